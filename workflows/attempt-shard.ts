/**
 * One shard of a probe or an evaluation: at most `SHARD_SIZE` attempts, in lanes, only those that are missing. An
 * execution whose history has become long lets its lanes run dry and goes on as a new one, at the next attempt.
 */
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import { shardPositions } from '../core/shards.js';
import { SHARD_HISTORY } from '../temporal.config.js';
import { settleAttempt, singleFlight } from './attempt.js';
import { Control, type ControlState } from './control.js';
import { EpisodeQueue } from './episode-queue.js';
import { inLanes } from './lanes.js';
import { campaigns, trainers } from './proxies.js';
import { servedWeights } from './served.js';

export interface ShardInput {
  readonly campaign: string;
  /** Ordinals [from, to): task index × repeat + repetition. */
  readonly from: number;
  readonly to: number;
  readonly repeat: number;
  readonly maxTries: number;
  readonly lanes: number;
  readonly servedByTrainer: boolean;
  /** A server of ours is started for its weights; absent: none is. */
  readonly served?: boolean;
  readonly control: ControlState;
  /** What the executions before this one have done of the shard. */
  readonly before?: ShardResult;
  /** Events after which an execution ends; smaller in tests. */
  readonly mostEvents?: number;
}

export interface ShardResult {
  readonly clean: number;
  readonly exhausted: number;
}

export async function attemptShard(input: ShardInput): Promise<ShardResult> {
  const control = new Control({ lanes: input.lanes, initial: input.control });
  const { campaign, from, to } = input;
  const plan = await campaigns.planShard(campaign, from, to);
  const todo = shardPositions(plan.missing, from);
  let clean = (input.before?.clean ?? 0) + to - from - plan.missingCount;
  let exhausted = input.before?.exhausted ?? 0;
  if (todo.length === 0) return { clean, exhausted };

  let weightVersion: string | undefined;
  const restorePolicy = singleFlight(async () => {
    if (input.servedByTrainer) weightVersion = (await trainers.serveModel(campaign)).weightVersion;
    else if (input.served) weightVersion = await servedWeights(campaign);
  });
  const queue = new EpisodeQueue(campaign, control);
  let position = 0;
  const { mostEvents = SHARD_HISTORY.mostEvents } = input;
  // Room for what is in flight to end, and for tries that are made again.
  const full = () =>
    position > 0 &&
    workflowInfo().historyLength + SHARD_HISTORY.eventsPerAttempt * control.lanes > mostEvents;
  const next = () => (control.stopping || full() ? undefined : todo[position++]);
  await control.unlessStopped(async () => {
    await control.clear();
    await restorePolicy();
    await inLanes(control, next, async (ordinal) => {
      const summary = await settleAttempt(
        {
          campaign,
          task: Math.floor(ordinal / input.repeat),
          slot: String(ordinal % input.repeat),
          ...(weightVersion === undefined ? {} : { weightVersion }),
        },
        { queue, firstTry: plan.firstTry, maxTries: input.maxTries, restorePolicy },
      );
      if (summary.outcome === 'system_error') exhausted++;
      else clean++;
    });
  });
  const rest = todo[position];
  if (rest !== undefined && !control.stopping) {
    await condition(allHandlersFinished);
    // Everything before `rest` has ended; what was clean there already is counted with it.
    const before = { clean: clean - (to - rest - (todo.length - position)), exhausted };
    await continueAsNew<typeof attemptShard>({ ...input, from: rest, control: control.state, before });
  }
  return { clean, exhausted };
}
