/**
 * What a record has lost and still says elsewhere, on a real stack: batches come back from their episodes, the start of
 * a fork from the record of its source, in a run that goes on and in a replay; and nothing is a dead end.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { trainConfig } from '../../cli/run/resolve.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { steadfast } from '../in-process.js';
import { LONG } from '../long.js';
import { discard, killHard, processOf, temporaryHome } from '../setup/harness.js';

const RUN = 'train/source';
const FORK = 'train/fork';
const FILE: RunFile = {
  seed: 3,
  train: {
    steps: 2,
    saveEvery: 1,
    plan: { learningRate: 7e-4 },
    shape: { groups: 2, groupSize: 4, maxGroups: 12, minInformative: 1 },
  },
};

/** On a machine that is busy with other work. */
const LIMIT_MS = 400_000;

let home = '';
let context: StackContext;
let ledger: Ledger & LedgerReads;
let artifacts: ArtifactStore;
let tasks: readonly string[] = [];

beforeAll(async () => {
  home = temporaryHome();
  context = openStack(await startStack({ home }));
  [ledger, artifacts] = [await context.ledger(), await context.artifacts()];
  const suite = createDeskbench();
  const train = (await suite.tasks()).filter(({ split }) => split === 'train').slice(0, 24);
  tasks = train.map(({ id }) => id);
  await launch(context, 'source', await trainConfig(FILE, suite, tasks), 12);
  await isDone(RUN);
}, LIMIT_MS);
afterAll(async () => {
  await context?.close();
  await discard(home);
});

const isDone = (id: string) => until(`${id} done`, async () => (await ledger.campaign(id))?.state === 'done');
const replayStep = (run: string, step: number, ...rest: readonly string[]) =>
  steadfast(home, 'replay', 'step', '--run', run, '--step', `${step}`, ...rest);

async function batchOf(step: number) {
  const { batchDigest } = (await ledger.operations(RUN)).find((row) => row.step === step)!;
  return { batchDigest, file: artifacts.path(batchDigest) };
}

function damage(file: string): void {
  writeFileSync(file, Buffer.from(readFileSync(file)).reverse());
}

/** A trainer without weights, and no saved state of the run to take them from. */
async function loseWeights(...runs: readonly string[]): Promise<void> {
  const saved = (await Promise.all(runs.map((run) => ledger.checkpoints(run)))).flat();
  for (const { path } of saved) await rm(path, { recursive: true, force: true });
  await killHard(processOf(readState(home)!, 'trainer'));
}

it(
  'a replay refuses a batch that is gone and names the way on; with --mend it is made again, and is the same',
  async () => {
    const { batchDigest, file } = await batchOf(2);
    await rm(file);
    const refused = await replayStep('source', 2);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('--mend') });
    const mended = await replayStep('source', 2, '--mend');
    expect(mended).toMatchObject({
      code: 0,
      out: expect.stringMatching(/made again from its recorded episodes/),
    });
    expect(mended.out).toContain('identical');
    expect(await artifacts.verify(batchDigest)).toBe('ok');
  },
  LIMIT_MS,
);

it(
  'a batch whose episodes are gone too cannot be made again: it says why, and --mend is not offered',
  async () => {
    const { batchDigest, file } = await batchOf(1);
    const checkpoint = (await ledger.checkpoints(RUN)).find(({ step }) => step === 1)!;
    const { trajectory } = (await ledger.attempts(RUN, { step: 1 })).find(({ group }) => group === 0)!;
    const files = [file, artifacts.path(trajectory!), join(checkpoint.path, 'model.safetensors')];
    const bytes = files.map((each) => readFileSync(each));
    files.forEach(damage);
    try {
      const ran = await replayStep('source', 2, '--mend');
      expect(ran.code).toBe(1);
      for (const said of [batchDigest, file, 'cannot be made again', trajectory!])
        expect(ran.err).toContain(said);
      expect(ran.err).not.toContain('--mend');
    } finally {
      for (const [index, each] of files.entries()) writeFileSync(each, bytes[index]!);
    }
  },
  LIMIT_MS,
);

it(
  'a run whose trainer, checkpoints and a batch are gone goes on by itself, and says what it made again',
  async () => {
    const before = (await ledger.steps(RUN)).map(({ weightDigest }) => weightDigest);
    const { batchDigest, file } = await batchOf(1);
    damage(file);
    await loseWeights(RUN);
    expect(await steadfast(home, 'extend', 'source', '--steps', '3')).toMatchObject({ code: 0 });
    await isDone(RUN);
    expect((await ledger.steps(RUN)).map(({ weightDigest }) => weightDigest).slice(0, 2)).toEqual(before);
    expect(await artifacts.verify(batchDigest)).toBe('ok');
    const status = await steadfast(home, 'status', RUN);
    expect(status.out).toContain(`batch ${batchDigest} of step 1 of ${RUN} is corrupt: ${file}; made again`);
    expect(await steadfast(home, 'verify', 'ledger')).toMatchObject({ code: 0 });
  },
  LIMIT_MS,
);

it(
  'the token record of an episode is the only copy: who needs it is told whose it is, and goes on when it is back',
  async () => {
    const [{ key, trajectory } = {}] = await ledger.attempts(RUN, { step: 1 });
    const document = JSON.parse(readFileSync(artifacts.path(trajectory!), 'utf8')) as { tokens: string };
    const file = artifacts.path(document.tokens);
    const bytes = readFileSync(file);
    await rm(file);
    const refused = await replayStep('source', 1, '--mend');
    expect(refused.code).toBe(1);
    for (const said of [key!, file, 'Put the file back']) expect(refused.err).toContain(said);
    expect(refused.err).not.toContain('with --mend');

    const before = (await ledger.steps(RUN)).map(({ weightDigest }) => weightDigest);
    await loseWeights(RUN);
    await steadfast(home, 'extend', 'source', '--steps', '4');
    await until('paused', async () => (await ledger.campaign(RUN))?.state === 'paused');
    const status = await steadfast(home, 'status', RUN);
    for (const said of [key!, 'Put the file back', 'replay step --run source --step 4'])
      expect(status.out).toContain(said);
    expect((await ledger.steps(RUN)).map(({ weightDigest }) => weightDigest).slice(0, 3)).toEqual(before);
    writeFileSync(file, bytes);
    expect(await replayStep('source', 4)).toMatchObject({ code: 0 });
    await isDone(RUN);
    expect((await ledger.steps(RUN)).map(({ weightDigest }) => weightDigest).slice(0, 3)).toEqual(before);
  },
  LIMIT_MS,
);

it.skipIf(!LONG)(
  'a fork whose start is gone goes on from the record of its source',
  async () => {
    const forked = await replayStep('source', 3, '--fork', 'fork', '--set', 'steps=1');
    expect(forked).toMatchObject({ code: 0 });
    const weights = (await ledger.steps(FORK))[0]!.weightDigest;
    await loseWeights(FORK, RUN);
    await steadfast(home, 'extend', 'fork', '--steps', '2');
    await isDone(FORK);
    expect((await ledger.steps(FORK))[0]!.weightDigest).toBe(weights);
    const status = await steadfast(home, 'status', FORK);
    expect(status.out).toMatch(/the start \(.*; made again from the record of its run\)/);
    expect(await steadfast(home, 'verify', 'ledger')).toMatchObject({ code: 0 });
    expect(await replayStep('fork', 1)).toMatchObject({ code: 0 });
  },
  LIMIT_MS,
);

it(
  'a step whose own batch is damaged before its update comes no further than its real cause',
  async () => {
    const plan = { ...FILE.train!.plan, mismatch: { meanAbove: 1e-12, shareAbove: 0 } };
    const file: RunFile = { ...FILE, train: { ...FILE.train, plan } };
    const config = await trainConfig(file, createDeskbench(), tasks);
    const { id } = await launch(context, 'refused', config, 12);
    await until(`${id} paused`, async () => (await ledger.campaign(id))?.state === 'paused');
    const { batchDigest } = (await ledger.steps(id))[0]!;
    damage(artifacts.path(batchDigest!));
    const again = await replayStep('refused', 1);
    expect(again).toMatchObject({ code: 1, out: expect.stringMatching(/off policy: /) });
    expect(await artifacts.verify(batchDigest!)).toBe('ok');
    // Who only looks is told the ways on, too.
    const { out } = await steadfast(home, 'status', 'refused');
    for (const way of ['replay step', '--fork refused-2', 'skip', 'stop']) expect(out).toContain(way);
  },
  LIMIT_MS,
);

it(
  'a paused run whose workflow is gone: status says so, and unpause starts it again',
  async () => {
    const client = await context.temporal();
    const described = () => client.workflow.getHandle('train/refused').describe();
    const { runId } = await described();
    await client.workflow.getHandle('train/refused').terminate();
    const status = await steadfast(home, 'status', 'refused');
    expect(status.out).toContain('no workflow runs train/refused. Start it again with: steadfast unpause');
    expect(await steadfast(home, 'lanes', 'refused', '3')).toMatchObject({
      code: 2,
      err: expect.stringContaining('steadfast unpause train/refused'),
    });
    expect(await steadfast(home, 'unpause', 'refused')).toMatchObject({ code: 0 });
    expect((await described()).runId).not.toBe(runId);
    // With the lanes that it was given, not with as many as there may be.
    const state = await client.workflow.getHandle('train/refused').query('control-state');
    expect(state).toMatchObject({ lanes: 12 });
    await until('paused again', async () => (await ledger.campaign('train/refused'))?.state === 'paused');
    expect(await steadfast(home, 'stop', 'refused')).toMatchObject({ code: 0 });
    await until('stopped', async () => (await ledger.campaign('train/refused'))?.state === 'stopped');
    expect(await steadfast(home, 'unpause', 'refused')).toMatchObject({
      code: 2,
      err: expect.stringContaining('steadfast replay step --run refused --step 1'),
    });
  },
  LIMIT_MS,
);
