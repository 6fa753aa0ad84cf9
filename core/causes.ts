/**
 * Why the groups of a step carried no signal: counted per cause, the most frequent one named. Pure; workflows import it.
 */
import { FAULT_KINDS, type FaultKind } from './faults.js';
import type { GroupRow } from './ledger.js';

const EQUAL_REWARDS = {
  all_failed: 'every attempt failed',
  all_passed: 'every attempt passed',
  all_equal: 'every attempt got the same reward between 0 and 1',
} as const;

const MEANING = { ...FAULT_KINDS, ...EQUAL_REWARDS, none: 'no group was lost' } as const;

export type CauseKind = keyof typeof MEANING;

export interface StepCause {
  readonly kind: CauseKind;
  /** Groups lost to this cause. */
  readonly groups: number;
  readonly meaning: string;
}

/** An ended group, with the kind of its first exhausted member where there is one. */
export type EndedGroup = GroupRow & { readonly fault: FaultKind | undefined };

/** The cause that cost most groups; on a tie the one that stands first in `FAULT_KINDS`, faults before equal rewards. */
export function dominantCause(groups: readonly EndedGroup[]): StepCause {
  const lost = new Map<CauseKind, number>();
  for (const group of groups) {
    const kind = causeOf(group);
    if (kind !== 'none') lost.set(kind, (lost.get(kind) ?? 0) + 1);
  }
  let dominant: StepCause = { kind: 'none', groups: 0, meaning: MEANING.none };
  for (const kind of Object.keys(MEANING) as CauseKind[]) {
    const count = lost.get(kind) ?? 0;
    if (count > dominant.groups) dominant = { kind, groups: count, meaning: MEANING[kind] };
  }
  return dominant;
}

/** One sentence for people: what was found, what was needed, why, and what ended the search. */
export function stepFailure(
  counts: {
    readonly informative: number;
    readonly started: number;
    readonly wanted: number;
    readonly needed: number;
  },
  cause: StepCause,
  ended: string,
): string {
  return (
    `${counts.informative} of ${counts.started} started groups are informative; ${counts.wanted} are wanted and ` +
    `at least ${counts.needed} needed. Mostly: ${cause.meaning} (${cause.kind}, ${cause.groups} groups). ` +
    `No more refills after ${ended}.`
  );
}

function causeOf(group: EndedGroup): CauseKind {
  if (group.state === 'informative') return 'none';
  if (group.fault !== undefined) return group.fault;
  const reward = group.rewards[0];
  if (reward === 0) return 'all_failed';
  return reward === 1 ? 'all_passed' : 'all_equal';
}
