/** What several parts of the page say of the whole campaign. */

import type { EvaluationReport, ReportData, ScoreLine } from '../../../core/report-data.js';
import { count } from '../format.js';

/** The `all` line, or null where coverage is incomplete. */
export function overall(evaluation: EvaluationReport | null): ScoreLine | null {
  return evaluation?.scores?.find((line) => line.kind === 'all') ?? null;
}

/** Scores are shown although coverage is incomplete: said wherever one of them is. */
export function isPartial(evaluation: EvaluationReport | null): boolean {
  return evaluation?.scores != null && !evaluation.coverage.complete;
}

/** `incomplete: 5 of 6 attempts`, for beside a figure of these; nothing where all of them are complete. */
export function partialMark(...evaluations: readonly (EvaluationReport | null)[]): string {
  const [first] = evaluations.filter((each) => each !== null).filter(isPartial);
  if (!first) return '';
  return `incomplete: ${count(first.coverage.clean)} of ${count(first.coverage.planned)} attempts`;
}

/** What stands before a sentence with such scores; nothing otherwise. */
export function partialWords(...evaluations: readonly (EvaluationReport | null)[]): string {
  const partial = evaluations.filter((each) => each !== null).filter(isPartial);
  if (partial.length === 0) return '';
  const counts = partial.map(
    ({ id, coverage: { clean, planned } }) => `${count(clean)} of ${count(planned)} attempts of ${id}`,
  );
  return `Incomplete coverage, scores of ${counts.join(' and ')} only: `;
}

/** Clean episodes of all stages. */
export function totalClean(data: ReportData): number {
  return [data.probe, data.training, data.before, data.after].reduce(
    (sum, part) => sum + (part?.coverage.clean ?? 0),
    0,
  );
}

/** Tries lost to system errors, of all stages. */
export function totalFaults(data: ReportData): number {
  return [data.probe, data.training, data.before, data.after].reduce(
    (sum, part) => sum + Object.values(part?.coverage.faults ?? {}).reduce((all, each) => all + each, 0),
    0,
  );
}

/** Tasks from best to worst after, so that squares of both grids are the same task. */
export function taskOrder(
  before: EvaluationReport | null,
  after: EvaluationReport | null,
): readonly string[] {
  const lookup = (evaluation: EvaluationReport | null): Map<string, number> =>
    new Map(
      evaluation?.tasks.map((task) => [task.taskId, task.attempts > 0 ? task.passed / task.attempts : 0]),
    );
  const [from, to] = [lookup(before), lookup(after)];
  const first = to.size > 0 ? to : from;
  const second = to.size > 0 ? from : to;
  return [...new Set([...to.keys(), ...from.keys()])].sort(
    (a, b) =>
      (first.get(b) ?? -1) - (first.get(a) ?? -1) ||
      (second.get(b) ?? -1) - (second.get(a) ?? -1) ||
      (a < b ? -1 : 1),
  );
}
