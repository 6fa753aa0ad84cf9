/**
 * One group of a step: what became of each member, and what the group is worth once nothing of it is under way.
 * Pure; workflows import it.
 */
import { isZeroVariance } from './advantages.js';
import type { FaultKind } from './faults.js';
import type { GroupRow } from './ledger.js';

export type MemberResult =
  | { readonly outcome: 'clean'; readonly reward: number }
  | { readonly outcome: 'exhausted'; readonly fault: FaultKind };

export interface InformativeGroup {
  readonly round: number;
  readonly group: number;
  readonly taskId: string;
  /** rewards[member]. */
  readonly rewards: readonly number[];
}

export interface Group {
  readonly round: number;
  readonly group: number;
  readonly taskId: string;
  /** results[member]: waiting to be started, running, its result, or dropped because a sibling was exhausted. */
  readonly results: ('waiting' | 'running' | 'dropped' | MemberResult)[];
  state: GroupRow['state'] | 'running';
}

export function dropWaiting(entry: Group): void {
  for (const [member, result] of entry.results.entries()) {
    if (result === 'waiting') entry.results[member] = 'dropped';
  }
}

/** Gives the group its state once nothing of it is waiting or running. */
export function settle(entry: Group): void {
  if (entry.results.some((result) => result === 'waiting' || result === 'running')) return;
  const rewards = rowOf(entry).rewards.filter((reward) => reward !== null);
  if (rewards.length < entry.results.length) entry.state = 'incomplete';
  else entry.state = isZeroVariance(rewards) ? 'zero_variance' : 'informative';
}

export function rowOf({ round, group, taskId, state, results }: Group): GroupRow {
  const rewards = results.map((result) =>
    typeof result !== 'string' && result.outcome === 'clean' ? result.reward : null,
  );
  return { round, group, taskId, state: state === 'running' ? 'incomplete' : state, rewards };
}

export function informative(entry: Group): InformativeGroup {
  const { round, group, taskId, rewards } = rowOf(entry);
  return { round, group, taskId, rewards: rewards.filter((reward) => reward !== null) };
}

export function firstFault(entry: Group): FaultKind | undefined {
  for (const result of entry.results) {
    if (typeof result !== 'string' && result.outcome === 'exhausted') return result.fault;
  }
  return undefined;
}
