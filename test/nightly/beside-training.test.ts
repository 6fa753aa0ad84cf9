/**
 * A nightly of the newest checkpoint while its run trains on: the night takes a checkpoint that verifies, gives its
 * weights back, and the training ends with the same bytes as one that was left alone.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Workflow } from '@temporalio/client';
import { afterEach, expect, it } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import type { NightRow } from '../../core/nightly/schedule.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { untilEnded } from '../e2e/small-run.js';
import { until } from '../e2e/until.js';
import { LONG } from '../long.js';
import { steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';

const RUN = 'train/beside';
const FILE: RunFile = {
  seed: 13,
  train: {
    steps: 6,
    saveEvery: 1,
    plan: { learningRate: 7e-4 },
    shape: { groups: 2, groupSize: 4, maxGroups: 8, maxRefillRounds: 2, minInformative: 1 },
  },
};

const homes: string[] = [];
afterEach(async () => {
  for (const home of homes.splice(0)) await discard(home);
});

it.skipIf(!LONG)(
  'leaves the training as it was',
  async () => {
    const alone = await trained(async () => undefined);
    let nights: readonly NightRow[] = [];
    const beside = await trained(async (context, home) => {
      const ledger = await context.ledger();
      await until('a checkpoint', async () => (await ledger.checkpoints(RUN)).length > 0);
      // It waits for the schedule, so that there is training left when the night begins; a pause changes no byte.
      const running = (await context.temporal()).workflow.getHandle<Workflow>(RUN);
      await running.executeUpdate('pause');
      const made = await steadfast(
        home,
        ...[
          'schedule',
          'create',
          'night',
          '--cron',
          '@daily',
          '--model',
          'latest:beside',
          '--repeat',
          '1',
          '--lanes',
          '8',
        ],
      );
      expect([made.code, made.err]).toEqual([0, '']);
      expect((await steadfast(home, 'schedule', 'trigger', 'night')).code).toBe(0);
      await running.executeUpdate('unpause');
      const schedules = await context.schedules();
      nights = await until('a night beside the training', async () => {
        const found = await schedules.nights('night', 9);
        return found[0]?.record.checkpoint && found;
      });
      expect((await ledger.campaign(RUN))?.state).toBe('running');
    });
    expect(beside.weights).toEqual(alone.weights);
    expect(beside.batches).toEqual(alone.batches);
    const { checkpoint } = nights[0]!.record;
    expect(checkpoint).toMatchObject({ run: RUN, passedOver: [] });
    expect(beside.night?.state).toBe('done');
    // Every attempt of the night is of that checkpoint, whatever the run had published meanwhile.
    expect(new Set(beside.sampled)).toEqual(new Set([checkpoint!.weightDigest]));
    expect(beside.served).not.toContain(checkpoint!.weightDigest);
  },
  600_000,
);

/** Trains on a stack of its own, with `beside` going on at the same time. */
async function trained(beside: (context: StackContext, home: string) => Promise<void>) {
  const home = temporaryHome();
  homes.push(home);
  const info = await startStack({ home });
  const context = openStack(info);
  try {
    const ledger = await context.ledger();
    const schedules = await context.schedules();
    const suite = createDeskbench();
    const pool = (await chooseTasks(suite, 'train')).slice(0, 40);
    await launch(context, 'beside', await trainConfig(FILE, suite, pool), 16);
    await beside(context, home);
    expect(await untilEnded(() => info, RUN, 240_000)).toBe('done');
    const night = await until('the end of the night', async () => {
      const [found] = await schedules.nights('night', 1);
      return found === undefined ? { none: true as const } : found.state !== 'running' && found;
    });
    const ran = 'none' in night ? undefined : night;
    if (ran) await brokenCheckpoints(context, home, ran);
    const steps = await ledger.steps(RUN);
    return {
      weights: steps.map(({ weightDigest }) => weightDigest),
      batches: steps.map(({ batchDigest }) => batchDigest),
      night: ran,
      sampled: ran ? (await ledger.attempts(ran.evaluation)).map(({ weightVersion }) => weightVersion) : [],
      served: (await createTrainerClient({ url: info.trainerUrl }).state(AbortSignal.timeout(5_000))).served,
    };
  } finally {
    await context.close();
    await discard(home);
  }
}

/** A newest checkpoint that does not verify is passed over, and named; with none left the schedule is refused. */
async function brokenCheckpoints(context: StackContext, home: string, { at }: NightRow): Promise<void> {
  const client = await context.temporal();
  await client.workflow.getHandle(`nightly/night-${at.slice(0, 19)}Z`).result();
  const there = (await (await context.ledger()).checkpoints(RUN)).filter(({ pruned }) => !pruned);
  appendFileSync(join(there[0]!.path, 'model.safetensors'), 'x');
  const second = ['schedule', 'backfill', 'night', '--from', '2026-11-20', '--to', '2026-11-20T12:00:00Z'];
  expect((await steadfast(home, ...second)).code).toBe(0);
  const schedules = await context.schedules();
  const night = { schedule: 'night', at: '2026-11-20T00:00:00.000Z' };
  const passed = await until('a night that passes one over', async () => {
    const found = await schedules.night(night);
    return found?.state === 'done' && found;
  });
  expect(passed.record.checkpoint).toMatchObject({ step: there[1]!.step, passedOver: [there[0]!.step] });
  for (const { path } of there.slice(1)) appendFileSync(join(path, 'model.safetensors'), 'x');
  const refused = await steadfast(
    home,
    ...['schedule', 'create', 'other', '--cron', '@daily', '--model', 'latest:beside'],
  );
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringMatching(/--model: expected a run with a checkpoint that verifies, found .*do not verify/),
  ]);
}
