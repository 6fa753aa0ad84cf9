/**
 * What histories are recorded of, and measured on: a pipeline with held-out evaluations whose steps refill, a training
 * step of which some tries meet a system error and are made again, nights of a schedule, and a probe with a reference
 * screen. All are as small as they can be.
 */
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig, pipelineConfig, trainConfig } from '../../cli/run/resolve.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { Suite } from '../../core/suite.js';
import type { StackInfo } from '../../infra/stack/info.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import type { People } from '../e2e/people.js';
import { untilEnded } from '../e2e/small-run.js';
import { playNights } from './nights.js';

const FILE: RunFile = {
  seed: 7,
  probe: { repeat: 3, limit: 16 },
  selection: { minCleanRuns: 1, retainBands: ['too_hard', 'hard', 'medium', 'easy', 'too_easy'] },
  benchmark: { repeat: 2, limit: 4 },
  train: {
    steps: 2,
    saveEvery: 5,
    validateEvery: 1,
    validationRepeat: 1,
    plan: { learningRate: 7e-4 },
    shape: { groups: 3, groupSize: 3, maxGroups: 9, minInformative: 1 },
  },
};

/** Workflow ids by the name under which a history is recorded. */
export const WORKFLOWS = {
  pipeline: 'pipeline/small',
  probe: 'probe/small',
  shard: 'probe/small/shard-00',
  evaluation: 'eval/small-base',
  'training-run': 'train/small',
  validation: 'eval/small-step-0001',
  step: 'train/small/step-0001',
  'later-step': 'train/small/step-0002',
  'retried-step': 'train/retried/step-0001',
  nightly: 'nightly/small-2026-11-28T01:00:00Z',
  'fallen-nightly': 'nightly/small-2026-11-29T01:00:00Z',
  screen: 'probe/screened-reference',
} as const;

const LIMIT_MS = 240_000;

/** Runs both to their end on a stack whose simulated user is `people`. Throws when one does not end `done`. */
export async function playScenario(info: StackInfo, people: People): Promise<void> {
  const suite = createDeskbench();
  const context = openStack(info);
  try {
    const pipeline = await pipelineConfig(FILE, suite);
    await finish(info, await start(context, 'small', pipeline));
    // Fewer than an attempt has tries: none is exhausted, whoever hears them.
    people.silence(2);
    const retried = await trainConfig(
      { ...FILE, train: { ...FILE.train, steps: 1, validateEvery: 0 } },
      suite,
      pipeline.probe.tasks,
    );
    await finish(info, await start(context, 'retried', retried));
    await playNights(context, suite, WORKFLOWS['training-run'], pipeline.benchmark.tasks);
    await playScreen(info, context, suite, pipeline.probe.tasks.slice(0, 4));
  } finally {
    await context.close();
  }
}

/** A screen, and the probe that it begins. */
async function playScreen(
  info: StackInfo,
  context: StackContext,
  suite: Suite,
  tasks: readonly string[],
): Promise<void> {
  const file: RunFile = { model: { kind: 'scripted', errorRate: 0, turnDelayMs: 0 }, probe: { repeat: 1 } };
  const config = await attemptsConfig('probe', file, suite, tasks);
  const rule = { minCleanRuns: 1, minSuccesses: 1, all: false };
  const screens = { probe: 'probe/screened', model: config.model, repeat: 1, ...rule };
  await finish(info, await start(context, 'screened-reference', { ...config, screens }));
  await finish(info, 'probe/screened');
}

async function start(
  context: StackContext,
  name: string,
  config: Parameters<typeof launch>[2],
): Promise<string> {
  return (await launch(context, name, config, 8)).id;
}

async function finish(info: StackInfo, id: string): Promise<void> {
  const state = await untilEnded(() => info, id, LIMIT_MS);
  if (state !== 'done') throw new Error(`${id} ended ${state}`);
}

/** A history as Temporal's tools write it: JSON, payloads in base64. */
export interface History {
  readonly events: readonly HistoryEvent[];
}

export interface HistoryEvent {
  readonly eventId: string;
  /** `activityTaskScheduledEventAttributes` and its like: one an event. */
  readonly [attributes: string]: unknown;
}

export async function historyOf(client: Client, workflowId: string): Promise<History> {
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  return JSON.parse(historyToJSON(history)) as History;
}
