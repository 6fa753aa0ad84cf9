/** The groups of one step as its rows tell them: what ended, what an earlier execution left, which tasks come next. */
import { isZeroVariance } from '../../core/advantages.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { AttemptRow, GroupRow } from '../../core/ledger.js';
import type { PriorGroup } from '../../core/orchestration.js';
import { TaskOrder } from '../../core/order.js';

/** Groups of which no member is pending, by number. */
export function endedGroups(config: TrainConfig, rows: readonly AttemptRow[]): readonly GroupRow[] {
  return membersByGroup(rows)
    .filter(({ members }) => members.every(({ state }) => state !== 'pending'))
    .map((group) => groupOf(config, group));
}

/** Every group that was started; one with a pending member counts as incomplete. */
export function allGroups(config: TrainConfig, rows: readonly AttemptRow[]): readonly GroupRow[] {
  return membersByGroup(rows).map((group) => groupOf(config, group));
}

/** By group number; null where none of the group was ever planned. */
export function priorGroups(
  config: TrainConfig,
  rows: readonly AttemptRow[],
): readonly (PriorGroup | null)[] {
  const prior: (PriorGroup | null)[] = [];
  for (const { group, members } of membersByGroup(rows)) {
    while (prior.length < group) prior.push(null);
    prior.push([members[0]!.round!, rewardsOf(config, members)]);
  }
  return prior;
}

/** Groups that were started: how far the run's cursor moves. */
export function startedGroups(rows: readonly AttemptRow[]): number {
  return membersByGroup(rows).length;
}

/** The distinct tasks of the endless order from the cursor on, as indexes into the frozen list. */
export function candidates(config: TrainConfig, cursor: number): readonly number[] {
  const index = new Map(config.tasks.map((taskId, position) => [taskId, position]));
  const found: number[] = [];
  for (const taskId of new TaskOrder(config.tasks, config.seed).distinctFrom(cursor)) {
    if (found.length >= config.shape.maxGroups) break;
    found.push(index.get(taskId)!);
  }
  return found;
}

interface Members {
  readonly group: number;
  readonly members: readonly AttemptRow[];
}

function membersByGroup(rows: readonly AttemptRow[]): Members[] {
  const groups = new Map<number, AttemptRow[]>();
  for (const row of rows) {
    if (row.group === null || row.round === null || row.member === null) continue;
    const members = groups.get(row.group);
    if (members) members.push(row);
    else groups.set(row.group, [row]);
  }
  return [...groups].map(([group, members]) => ({ group, members })).sort((a, b) => a.group - b.group);
}

function groupOf(config: TrainConfig, { group, members }: Members): GroupRow {
  const rewards = rewardsOf(config, members);
  return {
    round: members[0]!.round!,
    group,
    taskId: members[0]!.taskId,
    state: stateOf(rewards),
    rewards,
  };
}

/** rewards[member]; null where the member is not clean. */
function rewardsOf(config: TrainConfig, members: readonly AttemptRow[]): (number | null)[] {
  const rewards = new Array<number | null>(config.shape.groupSize).fill(null);
  for (const { member, state, reward } of members) rewards[member!] = state === 'clean' ? reward : null;
  return rewards;
}

function stateOf(rewards: readonly (number | null)[]): GroupRow['state'] {
  const clean = rewards.filter((reward) => reward !== null);
  if (clean.length < rewards.length) return 'incomplete';
  return isZeroVariance(clean) ? 'zero_variance' : 'informative';
}
