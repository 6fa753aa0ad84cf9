/**
 * Pause, unpause, stop, extend, and starting a name again, on a real stack: what was committed stays, what was
 * refused changes nothing, and a run that fails says why and can go on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { sendUpdate } from '../../cli/control.js';
import { extendRun } from '../../cli/run/extend.js';
import { type Launched, launch } from '../../cli/run/launch.js';
import { attemptsConfig, pipelineConfig, trainConfig } from '../../cli/run/resolve.js';
import type { CampaignConfig } from '../../core/campaign.js';
import type { CampaignRow, CampaignState, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { withVariables } from '../variables.js';
import { type People, startPeople } from './people.js';
import { until } from './until.js';

const LANES = 6;
const suite = createDeskbench();
let home = '';
let people: People;
let context: StackContext;
let ledger: Ledger & LedgerReads;
let candidates: readonly string[] = [];

beforeAll(async () => {
  home = temporaryHome();
  people = await startPeople();
  const info = await withVariables(people.environment, () => startStack({ home }));
  context = openStack(info);
  ledger = await context.ledger();
  candidates = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  await people?.close();
});

describe('an evaluation', () => {
  const slow: RunFile = {
    model: { kind: 'scripted', errorRate: 0.3, turnDelayMs: 60 },
    benchmark: { repeat: 4 },
  };
  const evaluate = async (name: string, file = slow) =>
    launched(name, await attemptsConfig('eval', file, suite, candidates.slice(0, 15)));

  it('pauses, goes on, stops, and is started again where its rows end', async () => {
    const { id, how } = await evaluate('paused');
    expect(how).toBe('started');
    await until('the first clean attempts', async () => (await clean(id)).size >= 3);

    await sendUpdate(context, id, 'pause');
    expect((await row(id)).state).toBe('paused');
    await until('nothing in flight', async () => (await ledger.progress(id)).running === 0);
    const paused = await clean(id);
    await sleep(1_000);
    expect(await clean(id)).toEqual(paused);
    expect((await evaluate('paused')).how).toBe('attached');

    await sendUpdate(context, id, 'unpause');
    await until('more clean attempts', async () => (await clean(id)).size > paused.size);
    expect((await row(id)).state).toBe('running');

    await sendUpdate(context, id, 'stop', 'now');
    await ended(id, 'stopped');
    const stopped = await clean(id);
    expect(stopped.size).toBeLessThan(60);
    await expect(sendUpdate(context, id, 'pause')).rejects.toThrow(/a running campaign|is ending/);

    expect((await evaluate('paused')).how).toBe('resumed');
    await until('more clean attempts', async () => (await clean(id)).size > stopped.size);
    // Started again before the stop is through.
    await sendUpdate(context, id, 'stop', 'now');
    expect((await evaluate('paused')).how).toBe('resumed');
    await ended(id, 'done');
    const all = await clean(id);
    expect(all.size).toBe(60);
    for (const [key, trajectory] of stopped) expect([key, all.get(key)]).toEqual([key, trajectory]);
    expect((await ledger.counts(id)).faults).not.toHaveProperty('sandbox');
    expect((await evaluate('paused')).how).toBe('finished');
  });

  it('refuses another configuration under its name, listing every changed path', async () => {
    const changed = { ...slow, seed: 43, benchmark: { repeat: 5 }, limits: { userTurns: 3 } };
    await expect(evaluate('paused', changed)).rejects.toThrow(
      /limits\.userTurns: 10 → 3[\s\S]*repeat: 4 → 5[\s\S]*seed: 42 → 43/,
    );
  });

  it('refuses nonsense, and the run goes on', async () => {
    const { id } = await evaluate('refused');
    await expect(sendUpdate(context, id, 'stop', 'sometime')).rejects.toThrow(
      /expected "now" or "after-step", found "sometime"/,
    );
    await expect(extendRun(context, await row(id), 9)).rejects.toThrow(/expected a training run/);
    await sendUpdate(context, id, 'stop', 'now');
    await ended(id, 'stopped');
  });
});

describe('stopped at any instant', () => {
  const file: RunFile = {
    model: { kind: 'scripted', errorRate: 0, turnDelayMs: 300 },
    benchmark: { repeat: 10 },
  };

  it('while its shards begin, an evaluation stops', async () => {
    const ids: string[] = [];
    for (let run = 0; run < 12; run++) {
      const config = await attemptsConfig('eval', file, suite, candidates.slice(0, 20));
      const { id } = await launched(`instant-${run}`, config);
      await sleep(10 * run);
      await sendUpdate(context, id, 'stop', 'now');
      ids.push(id);
    }
    for (const id of ids) await ended(id, 'stopped');
  });

  it('whoever cancels a workflow in Temporal stops its campaign', async () => {
    const { workflow } = await context.temporal();
    const config = await attemptsConfig('eval', file, suite, candidates.slice(0, 20));
    const { id } = await launched('cancelled', config);
    await until('the first clean attempt', async () => (await clean(id)).size > 0);
    await workflow.getHandle(id).cancel();
    await ended(id, 'stopped');
    const { id: early } = await launched('cancelled-early', config);
    await workflow.getHandle(early).cancel();
    await until('an end', async () => (await workflow.getHandle(early).describe()).status.name !== 'RUNNING');
    expect((await launched('cancelled-early', config)).how).toBe('resumed');
    await sendUpdate(context, early, 'stop', 'now');
    await ended(early, 'stopped');
  });
});

describe('a pipeline', () => {
  it('that is paused and stopped while its stage begins hands both on', async () => {
    const file: RunFile = {
      probe: { repeat: 3, limit: 20 },
      train: { shape: { groups: 3, maxGroups: 6, minInformative: 1 } },
    };
    const { id } = await launched('early', await pipelineConfig(file, suite));
    await sendUpdate(context, id, 'pause');
    expect((await row(id)).state).toBe('paused');
    const settled = await until('a paused stage, or none', async () => {
      const stages = await ledger.campaigns({ parent: id });
      return stages.every(({ state }) => state === 'paused') && { stages };
    });
    await sendUpdate(context, id, 'stop', 'now');
    await ended(id, 'stopped');
    for (const stage of settled.stages) await ended(stage.id, 'stopped');
  });
});

describe('a training run', () => {
  const file: RunFile = {
    seed: 3,
    train: {
      steps: 2,
      saveEvery: 4,
      plan: { learningRate: 7e-4 },
      shape: { groups: 3, groupSize: 3, maxGroups: 12, minInformative: 1 },
    },
  };
  const train = async (name: string, changes: RunFile = {}, pool = candidates.slice(0, 20)) =>
    launched(name, await trainConfig({ ...file, ...changes }, suite, pool));

  it('is extended while it runs and when it has ended; its last steps are checkpoints', async () => {
    const { id } = await train('longer');
    for (const nonsense of [2, 1, 2.5, Number.NaN]) {
      await expect(extendRun(context, await row(id), nonsense)).rejects.toThrow(/expected more than 2 steps/);
    }
    expect(await extendRun(context, await row(id), 3)).toBe(3);
    await ended(id, 'done');
    expect(await stepsDone(id)).toEqual([1, 2, 3]);
    expect((await ledger.checkpoints(id)).map(({ step }) => step)).toEqual([3, 2]);
    expect((await train('longer')).how).toBe('finished');

    await expect(extendRun(context, await row(id), 3)).rejects.toThrow(/more than 3 steps/);
    await extendRun(context, await row(id), 4);
    await ended(id, 'done');
    expect(await stepsDone(id)).toEqual([1, 2, 3, 4]);
    expect((await train('longer')).how).toBe('finished');
  });

  it('that is stopped within a step goes on within that step', async () => {
    const { id } = await train('stopped');
    await until('clean episodes of a step', async () => (await clean(id)).size >= 2);
    await sendUpdate(context, id, 'stop', 'now');
    await ended(id, 'stopped');
    const before = await clean(id);
    expect((await train('stopped')).how).toBe('resumed');
    await ended(id, 'done');
    const after = await clean(id);
    for (const [key, trajectory] of before) expect([key, after.get(key)]).toEqual([key, trajectory]);
    expect((await ledger.operations(id)).map(({ step, state }) => `${step} ${state}`)).toEqual([
      '1 done',
      '2 done',
    ]);
    expect((await ledger.counts(id)).pending).toBe(0);
  });

  it('that stops after its step finishes that step and no other', async () => {
    const { id } = await train('after', { train: { ...file.train, steps: 9 } });
    await until('clean episodes of a step', async () => (await clean(id)).size >= 2);
    await sendUpdate(context, id, 'stop', 'after-step');
    await expect(sendUpdate(context, id, 'pause')).rejects.toThrow(
      /stopping already|ending|a running campaign/,
    );
    await ended(id, 'stopped');
    const steps = await ledger.steps(id);
    expect(steps.map(({ state }) => state)).toEqual(steps.map(() => 'done'));
    expect(steps.length).toBeLessThan(9);
  });

  it('whose step somebody ends pauses, and makes the step again when it is unpaused', async () => {
    const { id } = await train('ended', { train: { ...file.train, steps: 1 } });
    await until('clean episodes of a step', async () => (await clean(id)).size >= 2);
    await (await context.temporal()).workflow.getHandle(`${id}/step-0001`).terminate('by a test');
    expect(causeOf(await ended(id, 'paused'))).toMatch(/step 1: /);
    const before = await clean(id);
    await sendUpdate(context, id, 'unpause');
    await ended(id, 'done');
    const after = await clean(id);
    for (const [key, trajectory] of before) expect([key, after.get(key)]).toEqual([key, trajectory]);
  });

  it('whose groups all agree pauses at the refill bound, and says so again without new episodes', async () => {
    const { id } = await train('hopeless', { limits: { agentActions: 1 } });
    const paused = await ended(id, 'paused');
    expect(causeOf(paused)).toMatch(
      /step 1: 0 of \d+ started groups are informative.*Mostly: every attempt failed/,
    );
    const before = await clean(id);

    await sendUpdate(context, id, 'unpause');
    await until('the same end', async () => (await row(id)).state === 'paused');
    expect(await clean(id)).toEqual(before);
    expect((await ledger.counts(id)).planned).toBe(before.size);
    await sendUpdate(context, id, 'stop', 'now');
    expect(causeOf(await ended(id, 'stopped'))).toMatch(/step 1/);
  });

  it('whose every attempt passes ends: nothing is left to train on', async () => {
    const greedy = { sampling: { temperature: 0 } };
    const pool = (await solvedGreedily()).slice(0, 6);
    const shape = { groups: 4, groupSize: 2, maxGroups: 6, minInformative: 1 };
    const { id } = await train('solved', { ...greedy, train: { ...file.train, steps: 9, shape } }, pool);
    const done = await ended(id, 'done');
    expect(causeOf(done)).toMatch(/ended at step 1: every attempt of every group/);
    expect((await ledger.steps(id)).map(({ state }) => state)).toEqual(['skipped']);
    expect((await ledger.checkpoints(id)).map(({ step }) => step)).toEqual([1]);
    expect((await train('solved', { ...greedy, train: { ...file.train, steps: 9, shape } }, pool)).how).toBe(
      'finished',
    );
  });

  it('whose user is silent pauses with that cause; unpaused, it keeps every clean episode and goes on', async () => {
    const asking: string[] = [];
    for (const taskId of candidates) {
      if ((await suite.load(taskId)).user.context !== '') asking.push(taskId);
    }
    people.silence(Number.MAX_SAFE_INTEGER);
    const shape = { groups: 4, groupSize: 4, maxGroups: 8, maxRefillRounds: 1, minInformative: 1 };
    const { id } = await train(
      'silent',
      { maxTries: 1, train: { ...file.train, steps: 1, shape } },
      asking.slice(0, 12),
    );
    const paused = await ended(id, 'paused');
    expect(causeOf(paused)).toMatch(
      /Mostly: the simulated user was unavailable or unreadable \(user, \d groups\)/,
    );
    const before = await clean(id);
    expect((await ledger.counts(id)).exhausted).toBeGreaterThan(0);

    people.silence(0);
    await sendUpdate(context, id, 'unpause');
    const done = await ended(id, 'done');
    expect(causeOf(done)).toBeNull();
    const after = await clean(id);
    expect(after.size).toBeGreaterThan(before.size);
    for (const [key, trajectory] of before) expect([key, after.get(key)]).toEqual([key, trajectory]);
    // Refills that were no longer needed were not tried again, and nothing is left open.
    const { planned, pending, exhausted } = await ledger.counts(id);
    expect({ planned, pending }).toEqual({ planned: after.size + exhausted, pending: 0 });
  });
});

/** Candidates that the base solves at temperature 0, where every attempt at a task is the same. */
async function solvedGreedily(): Promise<readonly string[]> {
  const file: RunFile = { sampling: { temperature: 0 }, probe: { repeat: 1 } };
  const { id } = await launched('greedy', await attemptsConfig('probe', file, suite, candidates));
  await ended(id, 'done');
  return (await ledger.attempts(id)).filter(({ passed }) => passed).map(({ taskId }) => taskId);
}

function launched(name: string, config: CampaignConfig): Promise<Launched> {
  return launch(context, name, config, LANES);
}

async function row(id: string): Promise<CampaignRow> {
  const found = await ledger.campaign(id);
  if (!found) throw new Error(`${id} is not in the ledger`);
  return found;
}

function ended(id: string, state: CampaignState): Promise<CampaignRow> {
  return until(`${id} ${state}`, async () => {
    const found = await row(id);
    if (found.state === state) return found;
    // Nothing follows a failure, and nothing but an extension follows the end.
    if (found.state === 'failed' || found.state === 'done')
      throw new Error(`${id} is ${found.state}, not ${state}: ${JSON.stringify(found.result)}`);
    return false;
  });
}

/** Key → trajectory of the clean attempts. */
async function clean(id: string): Promise<ReadonlyMap<string, string | null>> {
  const rows = await ledger.attempts(id);
  return new Map(
    rows.filter(({ state }) => state === 'clean').map(({ key, trajectory }) => [key, trajectory]),
  );
}

async function stepsDone(id: string): Promise<readonly number[]> {
  return (await ledger.steps(id)).filter(({ state }) => state === 'done').map(({ step }) => step);
}

function causeOf({ result }: CampaignRow): string | null {
  return (result as { cause: string | null }).cause;
}
