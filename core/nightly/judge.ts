/**
 * A night against another evaluation, paired by task. A measure has regressed when the whole 95 % interval of its
 * difference lies below zero; without an interval (one task) nothing is said.
 */
import { compareEvaluations } from '../metrics/compare.js';
import type { TaskCounts } from '../metrics/tasks.js';
import type { Estimate } from '../report-data.js';
import type { Measure, NightComparison } from './schedule.js';

export interface NightSide {
  readonly evaluation: string;
  readonly at: string | null;
  readonly suiteDigest: string;
  /** Scored attempts a task. */
  readonly k: number;
  readonly tasks: readonly TaskCounts[];
}

const SHOWN = 10;

/** Null when they have no task in common. */
export function judgeAgainst(other: NightSide, night: NightSide): NightComparison | null {
  const shared = new Set(other.tasks.map(({ taskId }) => taskId));
  const after = night.tasks.filter(({ taskId }) => shared.has(taskId));
  if (after.length === 0) return null;
  const own = new Set(after.map(({ taskId }) => taskId));
  const before = other.tasks.filter(({ taskId }) => own.has(taskId));
  const paired = compareEvaluations(before, after, [other.k, night.k]);
  const observedK = other.k === night.k ? paired.observedK : null;
  const regressed: Measure[] = [];
  if (fell(paired.passAt1)) regressed.push('pass@1');
  if (observedK && fell(observedK)) regressed.push('k/k');
  return {
    evaluation: other.evaluation,
    at: other.at,
    tasks: paired.tasks,
    unpaired: other.tasks.length + night.tasks.length - 2 * paired.tasks,
    sameSuite: other.suiteDigest === night.suiteDigest,
    passAt1: paired.passAt1,
    observedK,
    gained: paired.gained.length,
    lost: paired.lost.length,
    lostTasks: paired.lost.slice(0, SHOWN),
    regressed,
  };
}

function fell({ high }: Estimate): boolean {
  return high !== null && high < 0;
}
