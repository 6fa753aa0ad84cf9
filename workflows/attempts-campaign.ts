/**
 * Probe campaign and evaluation: the same engine, every task `repeat` times, in shards of lanes. Only missing
 * attempts run, found by key difference; the summary is computed from committed rows when all shards have ended.
 */
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  isCancellation,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { shardId } from '../core/keys.js';
import type { CampaignState } from '../core/ledger.js';
import { shardRanges } from '../core/shards.js';
import { PARALLEL_SHARDS, SHARD_SIZE } from '../temporal.config.js';
import { attemptShard } from './attempt-shard.js';
import { Control } from './control.js';
import { recordingFailure } from './failure.js';
import { inLanes } from './lanes.js';
import { campaigns, episodes } from './proxies.js';

export interface CampaignInput {
  readonly campaign: string;
  /** Episodes in flight. Changes speed, never results. */
  readonly lanes: number;
}

export interface CampaignResult {
  readonly state: CampaignState;
  readonly clean: number;
  readonly exhausted: number;
}

async function runAttempts(input: CampaignInput): Promise<CampaignResult> {
  const control = new Control();
  const plan = await campaigns.openCampaign(input.campaign);
  if (plan.servedByTrainer) await episodes.proveParity(input.campaign);
  const ranges = shardRanges(plan.taskCount * plan.repeat, SHARD_SIZE);
  const parallel = Math.min(PARALLEL_SHARDS, ranges.length);
  const lanes = Math.max(1, Math.floor(input.lanes / Math.max(1, parallel)));
  let clean = 0;
  let exhausted = 0;
  let shard = 0;
  try {
    await control.run(() =>
      inLanes(
        parallel,
        () => (control.stopping || shard >= ranges.length ? undefined : shard++),
        async (index) => {
          await control.clear();
          if (control.stopping) return;
          const [from, to] = ranges[index]!;
          const child = await startChild(attemptShard, {
            workflowId: shardId(workflowInfo().workflowId, index),
            args: [
              {
                campaign: input.campaign,
                from,
                to,
                repeat: plan.repeat,
                maxTries: plan.maxTries,
                lanes,
                servedByTrainer: plan.servedByTrainer,
                control: control.state,
              },
            ],
            cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
          });
          const result = await control.follow(child, child.result());
          clean += result.clean;
          exhausted += result.exhausted;
        },
      ),
    );
  } catch (error) {
    if (!(isCancellation(error) && control.stopping)) throw error;
  }
  const state: CampaignState = control.stopping ? 'stopped' : 'done';
  await CancellationScope.nonCancellable(() => campaigns.closeCampaign(input.campaign, state, null));
  return { state, clean, exhausted };
}

/** Every candidate × n attempts; its rows are what selection reads. */
export async function probeCampaign(input: CampaignInput): Promise<CampaignResult> {
  return recordingFailure(input.campaign, () => runAttempts(input));
}

/** tasks × repetitions; the score is shown only when coverage is complete. */
export async function evaluation(input: CampaignInput): Promise<CampaignResult> {
  return recordingFailure(input.campaign, () => runAttempts(input));
}
