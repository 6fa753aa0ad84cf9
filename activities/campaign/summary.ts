/** What a probe or an evaluation ended with, short enough for the campaign's row. */
import type { AttemptsConfig } from '../../core/campaign.js';
import type { Ledger } from '../../core/ledger.js';
import { expectedKeys } from '../../core/metrics/coverage.js';
import { evaluationMetrics } from '../../core/metrics/evaluation.js';
import type { Estimate } from '../../core/report-data.js';

export interface AttemptsSummary {
  readonly expected: number;
  readonly clean: number;
  readonly exhausted: number;
  readonly complete: boolean;
  readonly exhaustedAsFailed: boolean;
  /** Why the score is not comparable with published ones; absent: it is. */
  readonly notComparable?: readonly string[];
  /** Attempts a task: the k of the scores. */
  readonly k: number;
  /** Null while coverage is incomplete, unless such a score was asked for. */
  readonly score: {
    /** `5 of 6 attempts` when it leaves the others out; absent: it is of all of them. Said wherever the score is. */
    readonly incomplete?: string;
    readonly tasks: number;
    readonly passed: number;
    readonly passAt1: Estimate;
    readonly passAtK: Estimate;
    readonly observedK: Estimate;
    readonly dependable: number;
  } | null;
}

/** `allowIncomplete`: a score of incomplete coverage too, which says so. */
export async function summarise(
  ledger: Pick<Ledger, 'attempts'>,
  id: string,
  config: Pick<AttemptsConfig, 'tasks' | 'repeat' | 'exhaustedAsFailed' | 'notComparable'>,
  { allowIncomplete = false }: { readonly allowIncomplete?: boolean } = {},
): Promise<AttemptsSummary> {
  const attempts = await ledger.attempts(id);
  const { coverage, scores } = evaluationMetrics({
    attempts,
    expected: expectedKeys(id, config.tasks, config.repeat),
    k: config.repeat,
    exhaustedAsFailed: config.exhaustedAsFailed,
    allowIncomplete,
  });
  const all = scores?.[0];
  return {
    expected: coverage.expected,
    clean: coverage.clean,
    exhausted: coverage.systemError.length,
    complete: coverage.complete,
    exhaustedAsFailed: config.exhaustedAsFailed,
    ...(config.notComparable === undefined ? {} : { notComparable: config.notComparable }),
    k: config.repeat,
    score: all
      ? {
          ...(coverage.complete ? {} : { incomplete: shareOfAttempts(all.attempts, coverage.expected) }),
          tasks: all.tasks,
          passed: all.passed,
          passAt1: all.passAt1,
          passAtK: all.passAtK,
          observedK: all.observedK,
          dependable: all.dependable,
        }
      : null,
  };
}

/** How much of an evaluation a score is of, as it is said beside the score. */
export function shareOfAttempts(scored: number, expected: number): string {
  return `${scored} of ${expected} attempts`;
}
