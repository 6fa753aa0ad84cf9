/** What a comparison shows, as plain data; `compareSides` makes it, `renderComparison` is a pure function of it. */
import type { EvaluationReport, PairedReport, ReportData } from '../../core/report-data.js';

export interface ComparisonData {
  readonly before: EvaluationReport;
  readonly after: EvaluationReport;
  /** Null while one of them is incomplete, or when their tasks differ. */
  readonly paired: PairedReport | null;
  /** Further evaluations, each compared with `before`. */
  readonly others: readonly ComparedEvaluation[];
  /** Tasks that became dependable, then those that are it no more. */
  readonly moved: readonly MovedTask[];
  readonly run: Pick<ReportData['run'], 'programVersion' | 'generatedAt'>;
  readonly warnings: readonly string[];
}

export interface ComparedEvaluation {
  readonly evaluation: EvaluationReport;
  readonly paired: PairedReport | null;
}

export interface MovedTask {
  readonly kind: 'gained' | 'lost';
  readonly taskId: string;
  readonly domain: string;
  /** In the order of repetitions; `passed` is null without a score. */
  readonly before: readonly { readonly repetition: string; readonly passed: boolean | null }[];
  readonly after: readonly { readonly repetition: string; readonly passed: boolean | null }[];
  /** Address of the page with its conversations, relative to the comparison; null where none was written. */
  readonly page: string | null;
}

/** Every evaluation of a comparison, the first before all. */
export function evaluationsOf({ before, after, others }: ComparisonData): readonly EvaluationReport[] {
  return [before, after, ...others.map(({ evaluation }) => evaluation)];
}
