/** One shard of a probe or an evaluation: at most `SHARD_SIZE` attempts, in lanes, only those that are missing. */
import { shardPositions } from '../core/shards.js';
import { settleAttempt, singleFlight } from './attempt.js';
import { Control, type ControlState } from './control.js';
import { inLanes } from './lanes.js';
import { campaigns, trainers } from './proxies.js';

export interface ShardInput {
  readonly campaign: string;
  /** Ordinals [from, to): task index × repeat + repetition. */
  readonly from: number;
  readonly to: number;
  readonly repeat: number;
  readonly maxTries: number;
  readonly lanes: number;
  readonly servedByTrainer: boolean;
  readonly control: ControlState;
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
  let clean = to - from - plan.missingCount;
  let exhausted = 0;
  if (todo.length === 0) return { clean, exhausted };

  let weightVersion: string | undefined;
  const restorePolicy = singleFlight(async () => {
    if (input.servedByTrainer) weightVersion = (await trainers.serveModel(campaign)).weightVersion;
  });
  let position = 0;
  const next = () => (control.stopping ? undefined : todo[position++]);
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
        { firstTry: plan.firstTry, maxTries: input.maxTries, restorePolicy },
      );
      if (summary.outcome === 'system_error') exhausted++;
      else clean++;
    });
  });
  return { clean, exhausted };
}
