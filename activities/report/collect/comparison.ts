/** Evaluations put side by side for `renderComparison`: the first is what the others are compared with. */
import type { ReportData } from '../../../core/report-data.js';
import type { ComparedEvaluation, ComparisonData, MovedTask } from '../comparison-data.js';
import { pairedReport } from './evaluation.js';
import type { ComparedSide, TaskRun } from './side.js';

/** Differing tasks are a warning in the data, never a made-up difference. */
export function compareSides(
  [first, second, ...rest]: readonly [ComparedSide, ComparedSide, ...ComparedSide[]],
  run: Pick<ReportData['run'], 'programVersion' | 'generatedAt'>,
): ComparisonData {
  const warnings = [first, second, ...rest].flatMap((side) => side.warnings);
  const before = { ...first.evaluation, label: 'before' };
  const after = { ...second.evaluation, label: 'after' };
  const paired = pairedReport(before, after, warnings);
  const domains = new Map(before.tasks.map(({ taskId, domain }) => [taskId, domain]));
  const moved = (kind: MovedTask['kind'], ids: readonly string[]): readonly MovedTask[] =>
    ids
      .map((taskId) => ({
        kind,
        taskId,
        domain: domains.get(taskId) ?? '',
        before: first.runs.get(taskId) ?? [],
        after: second.runs.get(taskId) ?? [],
        page: null,
      }))
      // What moved furthest comes first.
      .sort((a, b) => distance(b) - distance(a) || (a.taskId < b.taskId ? -1 : 1));
  return {
    before,
    after,
    paired,
    others: rest.map(({ evaluation }): ComparedEvaluation => {
      const other = { ...evaluation, label: evaluation.id };
      return { evaluation: other, paired: pairedReport(before, other, warnings) };
    }),
    moved: paired ? [...moved('gained', paired.gained), ...moved('lost', paired.lost)] : [],
    run,
    warnings: [...new Set(warnings)],
  };
}

function distance({ before, after }: MovedTask): number {
  const passed = (runs: MovedTask['before']): number => runs.filter((run) => run.passed).length;
  return Math.abs(passed(after) - passed(before));
}

/** The repetition that shows a move best: failed on the one side and passed on the other, where there is one. */
export function tellingRuns({
  kind,
  before,
  after,
}: MovedTask): readonly [before: TaskRun | undefined, after: TaskRun | undefined] {
  const was = kind === 'lost';
  for (const run of before) {
    if (run.passed !== was) continue;
    const twin = after.find((other) => other.repetition === run.repetition && other.passed === !was);
    if (twin) return [run, twin];
  }
  return [before.find(({ passed }) => passed === was), after.find(({ passed }) => passed === !was)];
}
