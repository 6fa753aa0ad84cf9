/**
 * Replay of finished steps, forks and episodes on a real stack: the record gives the same bytes again, what was
 * changed in it is found, and a fork trains on recorded episodes without generating one.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import type { RunComparison } from '../../activities/report/runs/compare.js';
import type { StepReplay } from '../../activities/trainer/replay-step.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { trainConfig } from '../../cli/run/resolve.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { untilEnded } from '../e2e/small-run.js';
import { steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';

const RUN = 'train/source';
const FILE: RunFile = {
  seed: 3,
  train: {
    steps: 3,
    saveEvery: 2,
    plan: { learningRate: 7e-4 },
    shape: { groups: 3, groupSize: 4, maxGroups: 9, minInformative: 1 },
  },
};

let home = '';
let info: StackInfo;
let context: StackContext;
let ledger: Ledger & LedgerReads;
let pool: pg.Pool;

beforeAll(async () => {
  home = temporaryHome();
  info = await startStack({ home });
  context = openStack(info);
  ledger = await context.ledger();
  pool = createPool(info.databaseUrl, { max: 2 });
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').slice(0, 24);
  await launch(
    context,
    'source',
    await trainConfig(
      FILE,
      suite,
      tasks.map(({ id }) => id),
    ),
    12,
  );
  expect(await untilEnded(() => info, RUN, 120_000)).toBe('done');
}, 240_000);
afterAll(async () => {
  await pool?.end();
  await context?.close();
  await discard(home);
});

async function replay(step: number): Promise<StepReplay & { readonly code: number }> {
  const { code, out } = await steadfast(
    home,
    'replay',
    'step',
    '--run',
    'source',
    '--step',
    `${step}`,
    '--json',
  );
  return { ...(JSON.parse(out) as StepReplay), code };
}

describe('a finished step', () => {
  it('is identical, from the newest checkpoint before it', async () => {
    const found = await replay(3);
    expect(found).toMatchObject({ code: 0, identical: true, differences: [] });
    expect(found.restored?.from).toContain('step-0002');
    expect(found.restored?.reapplied).toEqual([]);
    expect(found.compared).toEqual(
      expect.arrayContaining([
        'batch made from the episodes',
        'weights',
        'optimizer',
        'loss',
        'gradNorm',
        'reward',
      ]),
    );
    expect(found.weightDigest).toBe((await ledger.steps(RUN))[2]?.weightDigest);
  });

  it('is identical from the base and the recorded batches, where there is no checkpoint', async () => {
    const found = await replay(2);
    expect(found).toMatchObject({ code: 0, identical: true });
    expect(found.restored).toMatchObject({ from: null, reapplied: [`${RUN}/step-0001/update`] });
  });

  it('says what differs first when a recorded metric is not what comes out', async () => {
    const change = (loss: string) =>
      pool.query(
        `UPDATE operations SET report = jsonb_set(report, '{loss}', $1::jsonb) WHERE run = $2 AND step = 3`,
        [loss, RUN],
      );
    const recorded = (await ledger.operations(RUN))[2]!.report!.loss;
    await change('0.5');
    try {
      const found = await replay(3);
      expect(found).toMatchObject({ code: 1, identical: false });
      expect(found.differences).toEqual([{ what: 'loss', recorded: '0.5', replayed: String(recorded) }]);
    } finally {
      await change(JSON.stringify(recorded));
    }
  });

  it('passes over a damaged checkpoint, says so, and applies the batches since the one before', async () => {
    const [, second] = [...(await ledger.checkpoints(RUN))].sort((a, b) => b.step - a.step);
    const file = join(second!.path, 'model.safetensors');
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.from(bytes).fill(bytes[900]! ^ 1, 900, 901));
    try {
      const found = await replay(3);
      expect(found).toMatchObject({ code: 0, identical: true });
      expect(found.restored?.passedOver).toEqual([
        { path: second!.path, reason: expect.stringContaining(file) },
      ]);
      expect(found.restored?.reapplied).toHaveLength(2);
    } finally {
      writeFileSync(file, bytes);
    }
  });

  it.each(['corrupt', 'missing'] as const)('names digest and path of a batch that is %s', async (state) => {
    const { batchDigest } = (await ledger.operations(RUN))[2]!;
    const path = (await context.artifacts()).path(batchDigest);
    const bytes = readFileSync(path);
    // Bytes of the same length under the same name, or none.
    if (state === 'corrupt') writeFileSync(path, Buffer.from(bytes).reverse());
    else await import('node:fs/promises').then(({ rm }) => rm(path));
    try {
      const ran = await steadfast(home, 'replay', 'step', '--run', 'source', '--step', '3');
      expect(ran.code).toBe(1);
      expect(ran.err).toContain(batchDigest);
      expect(ran.err).toContain(path);
      expect(ran.err).toContain(state);
    } finally {
      writeFileSync(path, bytes);
    }
  });
});

describe('a fork', () => {
  it('without other settings makes the same weights from the same episodes, and generates none', async () => {
    const ran = await steadfast(
      home,
      ...['replay', 'step', '--run', 'source', '--step', '2', '--fork', 'same', '--set', 'steps=1'],
    );
    expect(ran).toMatchObject({ code: 0 });
    const [source, fork] = [(await ledger.steps(RUN))[1]!, (await ledger.steps('train/same'))[0]!];
    expect(fork.weightDigest).toBe(source.weightDigest);
    expect(fork.cursor).toBe(source.cursor);
    expect(await ledger.sandboxCounts('train/same')).toEqual({
      intended: 0,
      created: 0,
      released: 0,
      reaped: 0,
    });
    expect((await ledger.usage('train/same')).cleanTries).toBe(0);
    const [attempt] = await ledger.attempts('train/same');
    const detail = await ledger.attempt(attempt!.key);
    expect(detail?.history.map(({ reusedFrom }) => reusedFrom)).toEqual([
      attempt!.key.replace('same/step-0001', 'source/step-0002'),
    ]);
  });

  it('with another learning rate moves elsewhere, then samples its own steps', async () => {
    const ran = await steadfast(
      home,
      ...['replay', 'step', '--run', 'source', '--step', '2', '--fork', 'slower'],
      ...['--set', 'plan.learningRate=0.0001', '--set', 'train.shape.advantage=none'],
    );
    expect(ran).toMatchObject({ code: 0 });
    const steps = await ledger.steps('train/slower');
    expect(steps.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(steps[0]!.baseDigest).toBe((await ledger.steps(RUN))[0]!.weightDigest);
    expect(steps[0]!.weightDigest).not.toBe((await ledger.steps(RUN))[1]!.weightDigest);
    const { released } = await ledger.sandboxCounts('train/slower');
    expect(released).toBe((await ledger.attempts('train/slower', { step: 2 })).length);
    // Forks are replayed like any other run.
    const again = await steadfast(home, 'replay', 'step', '--run', 'slower', '--step', '1', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ identical: true });
  });

  it('is compared with its source, step beside step', async () => {
    const ran = await steadfast(home, 'compare', 'train/source', 'train/slower', '--json');
    const found = JSON.parse(ran.out) as RunComparison;
    expect(found.changes.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['plan.learningRate', 'shape.advantage', 'steps']),
    );
    const pairs = found.steps.map(({ before, after }) => [before?.step, after?.step]);
    expect(pairs).toEqual([
      [1, undefined],
      [2, 1],
      [3, 2],
    ]);
    expect(found.steps[1]!.after?.metrics.reward).toBe(found.steps[1]!.before?.metrics.reward);
    const text = await steadfast(home, 'compare', 'source', 'slower');
    expect(text.out).toMatch(/plan\.learningRate: 0\.0007 → 0\.0001/);
    const lines = readFileSync(join(home, 'reports', 'train', 'slower', 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n');
    expect(lines).toHaveLength(2);
    expect((await steadfast(home, 'report', 'train/slower')).code).toBe(0);
  });

  it('is replayed although the checkpoint that it started from was pruned', async () => {
    const start = (await ledger.checkpoints(RUN)).find(({ step }) => step === 1)!;
    const pruned = (at: string | null, rule: string | null) =>
      pool.query('UPDATE checkpoints SET pruned_at = $1, pruned_by = $2 WHERE run = $3 AND step = 1', [
        at,
        rule,
        RUN,
      ]);
    await pruned('2026-01-01', 'a test');
    try {
      const ran = await steadfast(home, 'replay', 'step', '--run', 'slower', '--step', '1', '--json');
      expect(JSON.parse(ran.out)).toMatchObject({ identical: true });
      expect((JSON.parse(ran.out) as StepReplay).restored?.from).not.toContain(start.path);
    } finally {
      await pruned(null, null);
    }
  });

  it('is refused under a name that another run has, and shows the differences', async () => {
    const ran = await steadfast(
      home,
      ...['replay', 'step', '--run', 'source', '--step', '2', '--fork', 'slower', '--set', 'plan.clip=0.3'],
    );
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(/--fork slower.*plan\.clip: 0\.2 → 0\.3/s);
  });

  it.each([
    ['plan.learnigRate=1', /Did you mean plan\.learningRate/],
    ['plan.clip=wide', /plan\.clip/],
    ['shape.minInformative=9', /minInformative ≤ groups/],
    ['shape.groupSize=2', /as many as the recorded groups have/],
    ['clip', /path=value/],
  ])('refuses --set %s', async (setting, message) => {
    const ran = await steadfast(
      home,
      ...['replay', 'step', '--run', 'source', '--step', '2', '--fork', 'wrong', '--set', setting],
    );
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(message);
    expect(await ledger.campaign('train/wrong')).toBeUndefined();
  });
});

describe('an episode', () => {
  it('gives the same calls, observations and final state on a fresh backend', async () => {
    const attempts = (await ledger.attempts(RUN, { step: 1 }))
      .filter(({ state }) => state === 'clean')
      .slice(0, 2);
    for (const { key } of attempts) {
      const ran = await steadfast(home, 'replay', 'episode', key, '--json');
      expect(JSON.parse(ran.out)).toMatchObject({ key, identical: true, differences: [] });
      expect(ran.code).toBe(0);
    }
  });
});

describe('what is not there, or has changed', () => {
  it.each([
    [['step', '--run', 'sauce', '--step', '1'], /train\/source/],
    [['step', '--run', 'source', '--step', '7'], /Nearest: 1 \(done\), 2 \(done\), 3 \(done\)/],
    [['step', '--run', 'source', '--step', '2', '--set', 'plan.clip=1'], /--fork/],
    [['episode', `${RUN}/step-0001 · retail:nothing · 0.0.0`], /steadfast episodes|Nearest/],
  ])('replay %j', async (args, message) => {
    const ran = await steadfast(home, 'replay', ...args);
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(message);
  });

  it('refuses another trainer build and another suite, unless the drift is accepted and recorded', async () => {
    const build = (value: string) =>
      pool.query(
        `UPDATE checkpoints SET manifest = jsonb_set(manifest, '{trainerBuild}', to_jsonb($1::text)) WHERE run = $2`,
        [value, RUN],
      );
    const { trainerBuild } = (await ledger.checkpoints(RUN))[0]!.manifest;
    await build('embedded-0 of old');
    await pool.query(`UPDATE campaigns SET suite_digest = 'sha256:old' WHERE id = $1`, [RUN]);
    const step = ['replay', 'step', '--run', 'source', '--step', '3'] as const;
    const refused = await steadfast(home, ...step);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain(`trainer build: embedded-0 of old → ${trainerBuild}`);
    expect(refused.err).toMatch(/suite deskbench: sha256:old → sha256:/);
    expect((await steadfast(home, ...step, '--accept-drift')).code).toBe(0);
    expect((await ledger.campaign(RUN))!.result).toMatchObject({
      acceptedDrift: [
        { what: 'suite deskbench', recorded: 'sha256:old' },
        { what: 'trainer build', recorded: 'embedded-0 of old', found: trainerBuild },
      ],
    });
    await build(trainerBuild);
    await pool.query(`UPDATE campaigns SET suite_digest = config ->> 'suiteDigest' WHERE id = $1`, [RUN]);
  });

  it('leaves a ledger that holds', async () => {
    const { violations } = await verifyLedger({ pool, ledger, artifacts: await context.artifacts() });
    expect(violations).toEqual([]);
  });
});
