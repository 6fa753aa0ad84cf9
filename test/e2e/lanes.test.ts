/**
 * Another number of episodes in flight while campaigns run, on a real stack: what runs is never cut, nothing new
 * starts above the bound, new lanes are used at once, and the changed history is one that the code would write again.
 */
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { sendUpdate } from '../../cli/control.js';
import { launch, startWorkflow } from '../../cli/run/launch.js';
import { attemptsConfig, trainConfig } from '../../cli/run/resolve.js';
import { campaignClaim } from '../../core/claim.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { QUEUES, SHARD_SIZE } from '../../temporal.config.js';
import type { ControlState } from '../../workflows/control.js';
import { historyOf } from '../histories/scenario.js';
import { ROOT } from '../import-graph.js';
import { steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { until } from './until.js';

const suite = createDeskbench();
let home = '';
let context: StackContext;
let ledger: Ledger & LedgerReads;
let tasks: readonly string[] = [];

beforeAll(async () => {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
  });
  home = temporaryHome();
  context = openStack(await startStack({ home }));
  ledger = await context.ledger();
  tasks = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
});

const scripted = (repeat: number, turnDelayMs: number): RunFile => ({
  model: { kind: 'scripted', errorRate: 0.2, turnDelayMs },
  benchmark: { repeat },
});

const running = async (id: string): Promise<number> => (await ledger.progress(id)).running;
const lanes = (id: string, to: unknown): Promise<unknown> => sendUpdate(context, id, 'lanes', to as number);

/** The most episodes seen at once while so many more become clean; between two looks there may have been more of them. */
async function mostWhile(id: string, more: number): Promise<number> {
  const wanted = (await ledger.counts(id)).clean + more;
  let most = 0;
  await until(`${more} more clean attempts of ${id}`, async () => {
    most = Math.max(most, await running(id));
    return (await ledger.counts(id)).clean >= wanted;
  });
  return most;
}

it('an evaluation takes more lanes at once, and fewer when what runs has ended', async () => {
  const config = await attemptsConfig('eval', scripted(30, 120), suite, tasks.slice(0, 10));
  const { id } = await launch(context, 'lanes', config, 2);
  expect(await mostWhile(id, 4)).toBeLessThanOrEqual(2);

  const said = await steadfast(home, 'lanes', id, '9', '--json');
  expect(JSON.parse(said.out)).toEqual({ id, state: { paused: false, stop: 'no', lanes: 9 } });
  await until('nine in flight', async () => (await running(id)) === 9);
  expect(await mostWhile(id, 12)).toBeLessThanOrEqual(9);
  const status = await steadfast(home, 'status', id);
  expect(status.out).toMatch(/\d in flight of 9 lanes/);

  await lanes(id, 1);
  await until('one in flight', async () => (await running(id)) <= 1);
  expect(await mostWhile(id, 3)).toBeLessThanOrEqual(1);

  for (const nonsense of [0, -1, 2.5, 1_001, '7', null]) {
    await expect(lanes(id, nonsense)).rejects.toThrow(/expected a whole number from 1 to 1000, found/);
  }
  expect((await steadfast(home, 'lanes', id, '0')).code).toBe(2);

  // Lowered while it is paused, it goes on with as many as it now has.
  await lanes(id, 8);
  await sendUpdate(context, id, 'pause');
  await until('none in flight', async () => (await running(id)) === 0);
  await lanes(id, 3);
  await sendUpdate(context, id, 'unpause');
  await until('three in flight', async () => (await running(id)) === 3);
  expect(await mostWhile(id, 9)).toBeLessThanOrEqual(3);

  await lanes(id, 60);
  await until('done', async () => (await ledger.campaign(id))?.state === 'done');
  expect(await ledger.counts(id)).toMatchObject({ planned: 300, clean: 300, faults: {} });
  const refused = await steadfast(home, 'lanes', id, '4');
  expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/a campaign under way.*done/) });
  await replays(id);
  await replays(`${id}/shard-00`);
});

it('shards divide what there is, also less than one each; a stop reaches those that have none', async () => {
  const repeat = Math.ceil((2.5 * SHARD_SIZE) / 25);
  const config = await attemptsConfig('eval', scripted(repeat, 100), suite, tasks.slice(0, 25));
  const { id } = await launch(context, 'shards', config, 7);
  await until('seven in flight', async () => (await running(id)) === 7);
  expect(await mostWhile(id, 10)).toBeLessThanOrEqual(7);
  await lanes(id, 2);
  await until('two in flight', async () => (await running(id)) <= 2);
  expect(await mostWhile(id, 4)).toBeLessThanOrEqual(2);
  await lanes(id, 16);
  await until('sixteen in flight', async () => (await running(id)) === 16);
  expect(await mostWhile(id, 20)).toBeLessThanOrEqual(16);
  await lanes(id, 1);
  await until('one in flight', async () => (await running(id)) <= 1);
  await sendUpdate(context, id, 'stop', 'now');
  await until('stopped', async () => (await ledger.campaign(id))?.state === 'stopped');
  await replays(id);
  for (const shard of ['00', '01', '02']) await replays(`${id}/shard-${shard}`);
});

it('a shard whose history becomes long goes on as a new execution: every attempt once, all counted', async () => {
  const config = await attemptsConfig('eval', scripted(12, 5), suite, tasks.slice(0, 6));
  const id = 'eval/long';
  await ledger.claimCampaign(campaignClaim(id, config, null));
  const { workflow } = await context.temporal();
  const mostEvents = 130;
  const shard = {
    ...{ campaign: id, from: 0, to: 72, repeat: 12, maxTries: 3, lanes: 4, servedByTrainer: false },
    ...{ control: { paused: false, stop: 'no' } as const, mostEvents },
  };
  const start = { workflowId: 'eval/long/shard-00', taskQueue: QUEUES.pipeline };
  const first = await workflow.start('attemptShard', { ...start, args: [shard] });
  expect(await first.result()).toEqual({ clean: 72, exhausted: 0 });
  const lengths: number[] = [];
  for await (const { historyLength } of workflow.list({ query: `WorkflowId = "${start.workflowId}"` })) {
    lengths.push(historyLength ?? Number.NaN);
  }
  expect(lengths.length).toBeGreaterThan(2);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(mostEvents);
  const rows = await ledger.attempts(id);
  expect(rows.map(({ state, tries }) => `${state} ${tries}`)).toEqual(
    Array.from({ length: 72 }, () => 'clean 1'),
  );
  // Half of it clean already: counted as well, and not run again.
  const again = await workflow.execute('attemptShard', { ...start, args: [{ ...shard, from: 30 }] });
  expect(again).toEqual({ clean: 42, exhausted: 0 });
});

it('a training run hands them to its step, and keeps them for the steps to come', async () => {
  const file: RunFile = {
    seed: 3,
    train: {
      steps: 2,
      plan: { learningRate: 7e-4 },
      shape: { groups: 12, groupSize: 6, maxGroups: 24, minInformative: 1 },
    },
  };
  const config = await trainConfig(file, suite, tasks.slice(0, 20));
  const { id } = await launch(context, 'lanes', config, 1);
  await until('its first clean episode', async () => (await ledger.counts(id)).clean > 0);
  await lanes(id, 5);
  expect(await laneState(`${id}/step-0001`)).toMatchObject({ lanes: 5 });
  await until('done', async () => (await ledger.campaign(id))?.state === 'done');
  await replays(id);
  await replays(`${id}/step-0001`);
  await replays(`${id}/step-0002`);
  expect(await laneState(`${id}/step-0002`)).toMatchObject({ lanes: 5 });
});

it('what a run carries over when it continues as new has its lanes', async () => {
  const config = await trainConfig({ seed: 4 }, suite, tasks.slice(0, 40));
  const carried: ControlState = { paused: true, stop: 'no', lanes: 3 };
  await ledger.claimCampaign(campaignClaim('train/carried', config, null));
  await startWorkflow(context, 'train/carried', 'train', 48, { ended: false, control: carried });
  expect(await laneState('train/carried')).toEqual(carried);
  await sendUpdate(context, 'train/carried', 'stop', 'now');
});

async function laneState(id: string): Promise<ControlState> {
  return (await context.temporal()).workflow.getHandle(id).query<ControlState>('control-state');
}

async function replays(id: string): Promise<void> {
  const history = await historyOf(await context.temporal(), id);
  const bundle = { workflowBundle: { codePath: join(ROOT, 'dist', 'workflow-bundle.js') } };
  await Worker.runReplayHistory(bundle, history, id);
}
