/**
 * Probe campaign and evaluation: the same engine, every task `repeat` times, in shards of lanes. Only missing
 * attempts run, found by key difference; the summary is computed from committed rows when all shards have ended.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { shardId } from '../core/keys.js';
import type { CampaignState } from '../core/ledger.js';
import { shardRanges } from '../core/shards.js';
import type { Place } from '../core/sharing.js';
import { PARALLEL_SHARDS, SHARD_SIZE } from '../temporal.config.js';
import { attemptShard } from './attempt-shard.js';
import { Control, type ControlState } from './control.js';
import { EpisodeQueue } from './episode-queue.js';
import { recordingFailure } from './failure.js';
import { inLanes } from './lanes.js';
import { campaigns, servings } from './proxies.js';
import { servedWeights } from './served.js';
import { ShardSeats } from './shard-seats.js';

export interface CampaignInput {
  readonly campaign: string;
  /** Episodes in flight. Changes speed, never results. */
  readonly lanes: number;
  /** Of the workflow that started this one, where there is one. */
  readonly control?: ControlState;
}

export interface CampaignResult {
  readonly state: CampaignState;
  readonly clean: number;
  readonly exhausted: number;
}

/** What `runAttempts` knows at its end beside its result. */
interface Ended {
  readonly result: CampaignResult;
  readonly screens: boolean;
  readonly place: Place;
}

async function runAttempts({ campaign, lanes, control: initial }: CampaignInput): Promise<Ended> {
  const control = new Control({
    lanes,
    initial,
    record: (paused) => campaigns.setState(campaign, paused ? 'paused' : 'running', null),
  });
  const plan = await campaigns.openCampaign(campaign);
  await control.opened();
  const ranges = shardRanges(plan.taskCount * plan.repeat, SHARD_SIZE);
  let clean = 0;
  let exhausted = 0;
  let shard = 0;
  const seats = new ShardSeats(PARALLEL_SHARDS, () => ranges.length - shard);
  const width = {
    get now() {
      return seats.width(control.now);
    },
    get changed() {
      return control.changed;
    },
  };
  await control.unlessStopped(async () => {
    // Before the first question about its tokens there must be somebody to ask.
    if (plan.served) await servedWeights(campaign);
    if (plan.samplesTokens ?? plan.servedByTrainer) await new EpisodeQueue(campaign, control).proveParity();
    await inLanes(
      width,
      () => (control.stopping || shard >= ranges.length ? undefined : shard++),
      async (index) => {
        const seat = seats.take();
        const share = (all: number) => seats.share(all, seat);
        const [from, to] = ranges[index]!;
        const { repeat, maxTries, servedByTrainer, served } = plan;
        try {
          await control.shareAgain();
          const result = await control.follow(
            (state) =>
              startChild(attemptShard, {
                workflowId: shardId(workflowInfo().workflowId, index),
                args: [
                  {
                    ...{ campaign, from, to, repeat, maxTries, servedByTrainer },
                    ...(served ? { served } : {}),
                    ...{ lanes: share(control.lanes), control: state },
                  },
                ],
                cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
              }),
            share,
          );
          clean += result.clean;
          exhausted += result.exhausted;
        } finally {
          seats.leave(seat);
          await control.shareAgain();
        }
      },
    );
  });
  await control.close();
  // A stop that came when the last attempt had ended stopped nothing.
  const ended = clean + exhausted === plan.taskCount * plan.repeat;
  const state: CampaignState = ended ? 'done' : 'stopped';
  await CancellationScope.nonCancellable(() => campaigns.closeCampaign(campaign, state, null));
  if (plan.served) await CancellationScope.nonCancellable(() => servings.releaseServing(campaign));
  return { result: { state, clean, exhausted }, screens: plan.screens ?? false, place: control.place };
}

/** Every candidate × n attempts; its rows are what selection reads. A reference screen begins the probe that follows it. */
export async function probeCampaign(input: CampaignInput): Promise<CampaignResult> {
  return recordingFailure(input.campaign, async () => {
    const { result, screens, place } = await runAttempts(input);
    if (screens && result.state === 'done') await beginScreened(input, place);
    return result;
  });
}

/** The probe is a campaign of its own: it outlives the screen, and is paused and stopped by its own name. */
async function beginScreened({ campaign, lanes }: CampaignInput, place: Place): Promise<void> {
  const probe = await campaigns.claimScreened(campaign);
  if (probe === null) return;
  try {
    await startChild(probeCampaign, {
      workflowId: probe,
      args: [{ campaign: probe, lanes, control: { paused: false, stop: 'no', ...place } }],
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    // Whoever waited for the screen may have been faster.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** tasks × repetitions; the score is shown only when coverage is complete. */
export async function evaluation(input: CampaignInput): Promise<CampaignResult> {
  return recordingFailure(input.campaign, async () => (await runAttempts(input)).result);
}
