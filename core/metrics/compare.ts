/** Two evaluations of the same tasks, paired by task. Differences are after minus before. */
import { UsageError } from '../faults.js';
import type { DomainDifference, PairedReport } from '../report-data.js';
import { pairedMean } from '../stats/intervals.js';
import { isDependable, type TaskCounts } from './tasks.js';

export interface Comparison extends PairedReport {
  readonly domains: readonly DomainDifference[];
}

interface Pair {
  readonly before: TaskCounts;
  readonly after: TaskCounts;
}

/**
 * `k` is the attempts per task of k/k, each side's own where they differ (`[before, after]`). The interval of pass@1 is
 * Student's t over per-task differences; that of k/k a bootstrap over tasks. Throws `UsageError` when the tasks differ,
 * naming the first that only one side has.
 */
export function compareEvaluations(
  before: readonly TaskCounts[],
  after: readonly TaskCounts[],
  k: number | readonly [number, number],
): Comparison {
  const [kBefore, kAfter] = typeof k === 'number' ? [k, k] : k;
  const pairs = pairTasks(before, after);
  // Of a task that lacks attempts it is not known whether it can be depended on.
  const known = pairs.filter((pair) => pair.before.attempts >= kBefore && pair.after.attempts >= kAfter);
  const dependable = known.map((pair) => ({
    taskId: pair.before.taskId,
    was: isDependable(pair.before, kBefore),
    is: isDependable(pair.after, kAfter),
  }));
  const moves = pairs.map(({ before, after }) => Math.sign(rate(after) - rate(before)));
  const domains = [...new Set(pairs.map(({ before }) => before.domain))].sort();
  return {
    tasks: pairs.length,
    ...differences(pairs, kBefore, kAfter),
    gained: dependable.filter(({ was, is }) => is && !was).map(({ taskId }) => taskId),
    lost: dependable.filter(({ was, is }) => was && !is).map(({ taskId }) => taskId),
    improved: moves.filter((move) => move > 0).length,
    worsened: moves.filter((move) => move < 0).length,
    unchanged: moves.filter((move) => move === 0).length,
    domains: domains.map((domain) => {
      const own = pairs.filter((pair) => pair.before.domain === domain);
      return { domain, tasks: own.length, ...differences(own, kBefore, kAfter) };
    }),
  };
}

function differences(pairs: readonly Pair[], kBefore: number, kAfter: number) {
  const rates = pairs.map(({ before, after }) => rate(after) - rate(before));
  const whole = pairs.map(
    ({ before, after }) => Number(isDependable(after, kAfter)) - Number(isDependable(before, kBefore)),
  );
  return {
    passAt1: pairedMean(rates, 't', 'paired pass@1'),
    observedK: pairedMean(whole, 'bootstrap', 'paired k/k'),
  };
}

function pairTasks(before: readonly TaskCounts[], after: readonly TaskCounts[]): Pair[] {
  const later = new Map(after.map((task) => [task.taskId, task]));
  const pairs = before.map((task) => {
    const partner = later.get(task.taskId);
    if (!partner) throw unpaired(task.taskId, 'second');
    later.delete(task.taskId);
    return { before: task, after: partner };
  });
  const [left] = later.keys();
  if (left !== undefined) throw unpaired(left, 'first');
  return pairs;
}

function unpaired(taskId: string, side: string): UsageError {
  return new UsageError(
    'compare',
    'the same tasks on both sides',
    `"${taskId}", which the ${side} evaluation lacks`,
  );
}

function rate({ passed, attempts }: TaskCounts): number {
  return passed / attempts;
}
