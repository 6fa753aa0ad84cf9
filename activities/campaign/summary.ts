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
  /** Null while coverage is incomplete: no score is shown. */
  readonly score: {
    readonly tasks: number;
    readonly passed: number;
    readonly passAt1: Estimate;
    readonly passAtK: Estimate;
    readonly observedK: Estimate;
    readonly dependable: number;
  } | null;
}

export async function summarise(
  ledger: Ledger,
  id: string,
  config: Pick<AttemptsConfig, 'tasks' | 'repeat' | 'exhaustedAsFailed' | 'notComparable'>,
): Promise<AttemptsSummary> {
  const attempts = await ledger.attempts(id);
  const { coverage, scores } = evaluationMetrics({
    attempts,
    expected: expectedKeys(id, config.tasks, config.repeat),
    k: config.repeat,
    exhaustedAsFailed: config.exhaustedAsFailed,
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
