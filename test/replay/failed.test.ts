/**
 * Steps that failed, on a real stack: by deadline, by loss of the trainer, at the refill bound. Each keeps every clean
 * episode, runs only what is missing, and ends; or is left out.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { sendUpdate } from '../../cli/control.js';
import { endText } from '../../cli/run/ending.js';
import { launch } from '../../cli/run/launch.js';
import { trainConfig } from '../../cli/run/resolve.js';
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { steadfast } from '../in-process.js';
import { LONG } from '../long.js';
import { discard, killHard, processOf, temporaryHome } from '../setup/harness.js';
import { withVariables } from '../variables.js';
import { type SlowPeople, startSlowPeople } from './slow-people.js';

let home = '';
let people: SlowPeople;
let info: StackInfo;
let context: StackContext;
let ledger: Ledger & LedgerReads;
/** Tasks whose user must be asked, and tasks that need no user. */
let asking: readonly string[] = [];
let alone: readonly string[] = [];

beforeAll(async () => {
  home = temporaryHome();
  people = await startSlowPeople();
  info = await withVariables(people.environment, () => startStack({ home }));
  context = openStack(info);
  ledger = await context.ledger();
  const suite = createDeskbench();
  const found: { id: string; asks: boolean }[] = [];
  for (const { id, split } of await suite.tasks()) {
    if (split === 'train') found.push({ id, asks: (await suite.load(id)).user.context !== '' });
  }
  asking = found.filter(({ asks }) => asks).map(({ id }) => id);
  alone = found.filter(({ asks }) => !asks).map(({ id }) => id);
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  await people?.close();
});

/** One try an attempt, no refills: what is lost fails the step. */
function file(steps: number, limits: RunFile['limits'] = {}): RunFile {
  const shape = { groups: 4, groupSize: 3, maxRefillRounds: 0, maxGroups: 4, minInformative: 2 };
  return { seed: 1, maxTries: 1, limits, train: { steps, plan: { learningRate: 7e-4 }, shape } };
}

async function start(name: string, run: RunFile, tasks: readonly string[], lanes: number): Promise<string> {
  return (await launch(context, name, await trainConfig(run, createDeskbench(), tasks), lanes)).id;
}

function paused(id: string): Promise<CampaignRow> {
  return until(`${id} paused`, async () => {
    const row = await ledger.campaign(id);
    if (row?.state === 'done') throw new Error(`${id} is done; it was to fail`);
    return row?.state === 'paused' && row;
  });
}

/** Clean attempts of a step, as key → tries and trajectory. */
async function cleanOf(run: string, step: number): Promise<ReadonlyMap<string, string>> {
  const rows = (await ledger.attempts(run, { step })).filter(({ state }) => state === 'clean');
  return new Map(rows.map(({ key, tries, trajectory }) => [key, `${tries} ${trajectory}`]));
}

async function replayed(run: string, step: number) {
  const ran = await steadfast(home, 'replay', 'step', '--run', run, '--step', `${step}`, '--json');
  return { code: ran.code, ...(JSON.parse(ran.out) as { kept: number; added: number; tries: number }) };
}

async function expectKept(run: string, step: number, before: ReadonlyMap<string, string>): Promise<void> {
  const after = await cleanOf(run, step);
  for (const [key, was] of before) expect([key, after.get(key)]).toEqual([key, was]);
}

describe('a step that failed', () => {
  it('by deadline: pauses with its cause and the commands; replayed, runs what is missing', async () => {
    people.mood = 'hangs';
    // Three tasks whose user is silent for longer than an episode may take, one that needs nobody.
    const tasks = [...asking.slice(0, 3), ...alone.slice(0, 1)];
    const id = await start('late', file(1, { episodeMs: 12_000 }), tasks, 12);
    const row = await paused(id);
    const text = await endText(ledger, row);
    expect(text).toMatch(/deadline/);
    expect(text).toContain('steadfast replay step --run late --step 1\n');
    expect(text).toMatch(/replay step --run late --step 1 --fork late-2 --set limits\.episodeMs=24000/);
    expect(text).toContain('steadfast skip train/late --step 1');
    expect(text).toContain('steadfast stop train/late');
    const before = await cleanOf(id, 1);
    expect(before.size).toBeGreaterThan(0);

    people.mood = 'answers';
    const missing = 12 - before.size;
    expect(await replayed('late', 1)).toMatchObject({
      code: 0,
      state: 'done',
      kept: before.size,
      added: missing,
      tries: missing,
    });
    await expectKept(id, 1, before);
  });

  it('by loss of the trainer: the weights come back, only what is missing runs', async () => {
    const id = await start('lost', file(2), alone.slice(0, 12), 1);
    await until('the second step has clean episodes', async () => (await cleanOf(id, 2)).size >= 2);
    await killHard(processOf(readState(home)!, 'trainer'));
    const row = await paused(id);
    expect(await endText(ledger, row)).toMatch(/step 2:.*policy/);
    const before = await cleanOf(id, 2);
    const found = await replayed('lost', 2);
    expect(found).toMatchObject({ code: 0, kept: before.size, added: 12 - before.size });
    await expectKept(id, 2, before);
    const operations = await ledger.operations(id);
    expect(operations.map(({ step, state }) => `${step} ${state}`)).toEqual(['1 done', '2 done']);
  });

  it('at the refill bound: fails again while the cause lasts; another process goes on when the run is gone', async () => {
    people.mood = 'silent';
    const id = await start('bound', file(3), asking.slice(0, 12), 12);
    await paused(id);
    const again = await steadfast(home, 'replay', 'step', '--run', 'bound', '--step', '1');
    expect(again.code).toBe(1);
    expect(again.out).toMatch(/run what is missing of it/);
    expect((await ledger.steps(id))[0]).toMatchObject({ state: 'failed', weightDigest: null });

    await sendUpdate(context, id, 'stop', 'now');
    await until('stopped', async () => (await ledger.campaign(id))?.state === 'stopped');
    people.mood = 'answers';
    const before = await cleanOf(id, 1);
    expect(await replayed('bound', 1)).toMatchObject({ code: 0, state: 'done', kept: before.size });
    await expectKept(id, 1, before);
  });

  it('by its bound on the sampler: nothing moves, and each fork that it proposes trains on the same episodes', async () => {
    const strict = file(1);
    const mismatch = { meanAbove: 0, shareAbove: 0 };
    const train = { ...strict.train, plan: { ...strict.train?.plan, mismatch } };
    const id = await start('strict', { ...strict, train }, alone.slice(0, 12), 12);
    const text = await endText(ledger, await paused(id));
    expect(text).toMatch(/off policy: sampler and trainer differ by .* nats a token on average \(bound 0\)/);
    const [step] = await ledger.steps(id);
    expect(step).toMatchObject({ state: 'failed', weightDigest: null });
    expect(step?.metrics.mismatchMean).toBeGreaterThan(0);
    expect(step?.metrics.mismatchMean).toBeLessThan(1e-5);
    // As it proposes first: what was sampled is what was recorded, so the difference is in the numbers.
    expect((await steadfast(home, 'verify', 'parity', '--run', id)).code).toBe(0);
    const [wider, weighed] = [...text.matchAll(/steadfast (replay step .*--fork .*)/g)].map(
      ([, line]) => line!,
    );
    expect((await steadfast(home, ...wider!.split(' '))).code).toBe(0);
    const other = weighed!.replace('strict-2', 'strict-3');
    expect((await steadfast(home, ...other.split(' '))).code).toBe(0);
    for (const [name, weights] of [
      ['train/strict-2', undefined],
      ['train/strict-3', 1],
    ] as const) {
      expect(await ledger.sandboxCounts(name)).toMatchObject({ created: 0, released: 0 });
      const [operation] = await ledger.operations(name);
      const { importanceMean, mismatchMean } = operation!.report!;
      expect([operation?.state, mismatchMean]).toEqual(['done', step?.metrics.mismatchMean]);
      if (weights === undefined) expect(importanceMean).toBeUndefined();
      else expect(importanceMean).toBeCloseTo(weights, 5);
    }
  });

  it('with nothing missing: says so, and the fork that it proposes goes on without a new episode', async () => {
    // Two members a group, and every group must tell: some will not.
    const shape = { groups: 6, groupSize: 2, maxRefillRounds: 0, maxGroups: 6, minInformative: 6 };
    const flat: RunFile = { seed: 1, train: { steps: 1, plan: { learningRate: 7e-4 }, shape } };
    const id = await start('flat', flat, alone.slice(0, 12), 12);
    await paused(id);
    const again = await steadfast(home, 'replay', 'step', '--run', 'flat', '--step', '1');
    expect(again).toMatchObject({ code: 1, out: expect.stringMatching(/No attempt was missing/) });
    const proposed = /steadfast (replay step .*--fork .*)/.exec(again.out)?.[1] ?? '';
    expect(proposed).toMatch(/--set shape\.minInformative=[1-5]$/);
    expect((await steadfast(home, ...proposed.split(' '))).code).toBe(0);
    expect(await ledger.sandboxCounts('train/flat-2')).toMatchObject({ created: 0, released: 0 });
    expect((await ledger.steps('train/flat-2')).map(({ state }) => state)).toEqual(['done']);
  });
});

describe('skipping', () => {
  it('is refused for a step that is done, is under way, or is another one', async () => {
    const done = await steadfast(home, 'skip', 'late', '--step', '1');
    expect(done).toMatchObject({ code: 2, err: expect.stringMatching(/which is done/) });
    const unknown = await steadfast(home, 'skip', 'late', '--step', '4');
    expect(unknown).toMatchObject({ code: 2, err: expect.stringMatching(/Nearest: 1 \(done\)/) });
  });

  it.each(LONG ? ['waits', 'is gone'] : ['is gone'])(
    'leaves the step out and goes on, when the run %s',
    async (how) => {
      people.mood = 'silent';
      const name = how === 'waits' ? 'skipped' : 'skipped-later';
      const id = await start(name, file(2), asking.slice(0, 12), 12);
      await paused(id);
      const before = await cleanOf(id, 1);
      if (how === 'is gone') {
        await sendUpdate(context, id, 'stop', 'now');
        await until('stopped', async () => (await ledger.campaign(id))?.state === 'stopped');
      }
      people.mood = 'answers';
      expect((await steadfast(home, 'skip', name, '--step', '1')).code).toBe(0);
      const row = await until('done', async () => {
        const found = await ledger.campaign(id);
        if (found?.state === 'paused' && found.result) throw new Error(JSON.stringify(found.result));
        return found?.state === 'done' && found;
      });
      expect(row.result).toMatchObject({ steps: 2 });
      const [first, second] = await ledger.steps(id);
      expect(first).toMatchObject({ state: 'skipped', started: 4 });
      expect(first!.weightDigest).toBe(first!.baseDigest);
      expect(second).toMatchObject({ state: 'done', cursor: 4, baseDigest: first!.weightDigest });
      await expectKept(id, 1, before);
      const refused = await steadfast(home, 'replay', 'step', '--run', name, '--step', '1');
      expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/skipped/) });
      expect((await steadfast(home, 'replay', 'step', '--run', name, '--step', '2')).out).toMatch(
        /identical/,
      );
    },
  );
});

it('leaves a ledger that holds', async () => {
  const pool = createPool(info.databaseUrl, { max: 2 });
  try {
    const { violations } = await verifyLedger({ pool, ledger, artifacts: await context.artifacts() });
    expect(violations).toEqual([]);
  } finally {
    await pool.end();
  }
});
