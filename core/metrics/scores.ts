/** The score table of an evaluation: all tasks, each domain, and tasks by whether their template was trained on. */
import type { Estimate, ScoreLine } from '../report-data.js';
import { bootstrapMean, clusteredRate } from '../stats/intervals.js';
import { passAtK, passPowerK } from './pass-k.js';
import { isDependable, type TaskCounts } from './tasks.js';

export interface Score extends ScoreLine {
  /** Standard error of pass@1, clustered by task; null of a single task. */
  readonly standardError: number | null;
  /** Unbiased pass^k: every one of k passes. Equals `observedK` where every task has exactly k attempts. */
  readonly passPowerK: Estimate;
  /** Tasks with at least one pass. */
  readonly solvedOnce: number;
  /** Tasks with fewer than k attempts: in no pass@k or pass^k, never dependable. Above 0 only in incomplete coverage. */
  readonly shortTasks: number;
}

/** One line for the tasks given. `k` from 1. Intervals: pass@1 by clustered standard error, the others by bootstrap over tasks. */
export function score(
  label: string,
  kind: ScoreLine['kind'],
  tasks: readonly TaskCounts[],
  k: number,
): Score {
  const long = tasks.filter(({ attempts }) => attempts >= k);
  const { standardError, ...passAt1 } = clusteredRate(tasks);
  const perTask = (statistic: (task: TaskCounts) => number, of: readonly TaskCounts[], name: string) =>
    bootstrapMean(of.map(statistic), `${name} ${k}`);
  return {
    label,
    kind,
    tasks: tasks.length,
    attempts: total(tasks, ({ attempts }) => attempts),
    passed: total(tasks, ({ passed }) => passed),
    passAt1,
    standardError,
    passAtK: perTask(({ passed, attempts }) => passAtK(passed, attempts, k), long, 'pass@k'),
    passPowerK: perTask(({ passed, attempts }) => passPowerK(passed, attempts, k), long, 'pass^k'),
    observedK: perTask((task) => (isDependable(task, k) ? 1 : 0), tasks, 'k/k'),
    dependable: tasks.filter((task) => isDependable(task, k)).length,
    solvedOnce: tasks.filter(({ passed }) => passed > 0).length,
    shortTasks: tasks.length - long.length,
  };
}

/**
 * The first line is `all`; then domains by name, where there are several; then `templates trained on` and
 * `templates never trained on`, where it is known what was trained on and both exist or the second does.
 */
export function scoreTable(
  tasks: readonly TaskCounts[],
  k: number,
  trainedTemplates: ReadonlySet<string> | null = null,
): Score[] {
  const lines = [score('all', 'all', tasks, k)];
  const domains = [...new Set(tasks.map(({ domain }) => domain))].sort();
  if (domains.length > 1) {
    for (const domain of domains) {
      lines.push(
        score(
          domain,
          'domain',
          tasks.filter((task) => task.domain === domain),
          k,
        ),
      );
    }
  }
  if (trainedTemplates === null) return lines;
  const trained = tasks.filter(({ template }) => trainedTemplates.has(template));
  const never = tasks.filter(({ template }) => !trainedTemplates.has(template));
  if (never.length === 0) return lines;
  if (trained.length > 0) lines.push(score('templates trained on', 'templates', trained, k));
  lines.push(score('templates never trained on', 'templates', never, k));
  return lines;
}

export interface PassCurvePoint {
  readonly k: number;
  readonly passAtK: number;
  readonly passPowerK: number;
}

/** pass@k and pass^k for k = 1 .. n, where n is the least number of attempts that any task has. */
export function passCurve(tasks: readonly TaskCounts[]): PassCurvePoint[] {
  const most = tasks.length === 0 ? 0 : Math.min(...tasks.map(({ attempts }) => attempts));
  return Array.from({ length: most }, (_, index) => {
    const k = index + 1;
    const mean = (of: typeof passAtK) =>
      total(tasks, ({ passed, attempts }) => of(passed, attempts, k)) / tasks.length;
    return { k, passAtK: mean(passAtK), passPowerK: mean(passPowerK) };
  });
}

function total(tasks: readonly TaskCounts[], of: (task: TaskCounts) => number): number {
  return tasks.reduce((sum, task) => sum + of(task), 0);
}
