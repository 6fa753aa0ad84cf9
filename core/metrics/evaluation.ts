/**
 * Everything that a finished evaluation says, from its ledger rows:
 *
 *   rows → coverage gate → counts per task → score table, terminations, tokens, cost
 */
import { UsageError } from '../faults.js';
import type { AttemptRow } from '../ledger.js';
import type { Termination, Usage } from '../outcome.js';
import type { Price } from '../prices.js';
import type { CostReport } from '../report-data.js';
import { type Coverage, checkCoverage } from './coverage.js';
import { type Score, scoreTable } from './scores.js';
import { countTasks, type ScoredAttempt, type TaskCounts } from './tasks.js';
import { byTermination, costReport, type TerminationCounts, totalUsage } from './usage.js';

export interface EvaluationInput {
  readonly attempts: readonly AttemptRow[];
  /** `expectedKeys(campaign, tasks, repeat)`. */
  readonly expected: readonly string[];
  /** Attempts per task: the k of pass@k, pass^k and k/k. */
  readonly k: number;
  /** Scores exhausted attempts 0. Whoever shows the scores says so. */
  readonly exhaustedAsFailed?: boolean;
  /** Shows scores of incomplete coverage. Whoever shows them says so. */
  readonly allowIncomplete?: boolean;
  /** Templates of the training pool; null or absent: nothing was trained. */
  readonly trainedTemplates?: ReadonlySet<string> | null;
  /** Absent: no cost is reported. */
  readonly prices?: { readonly policy: Price; readonly other?: Price } | null;
}

export interface EvaluationMetrics {
  readonly k: number;
  readonly coverage: Coverage;
  readonly exhaustedAsFailed: boolean;
  /** Null unless coverage is complete, or incomplete scores were asked for. The first line is `all`. */
  readonly scores: readonly Score[] | null;
  readonly tasks: readonly TaskCounts[];
  readonly terminations: Readonly<Partial<Record<Termination, TerminationCounts>>>;
  /** Of every attempt that has one, exhausted ones too. */
  readonly usage: Usage;
  /** Null without prices, or while scores are withheld. */
  readonly cost: CostReport | null;
}

/** Throws `UsageError` for a `k` below 1; incomplete coverage is no error here, it only withholds the scores. */
export function evaluationMetrics(input: EvaluationInput): EvaluationMetrics {
  const { attempts, expected, k, exhaustedAsFailed = false, allowIncomplete = false } = input;
  if (!Number.isSafeInteger(k) || k < 1) throw new UsageError('repetitions', 'an integer from 1', String(k));
  const outcomeOf = (state: AttemptRow['state']) => {
    if (state === 'pending') return 'absent';
    return state === 'clean' || exhaustedAsFailed ? 'clean' : 'system_error';
  };
  const coverage = checkCoverage(
    expected,
    attempts.map(({ key, state }) => ({ key, outcome: outcomeOf(state) })),
  );
  const duplicate = new Set(coverage.duplicate);
  const wanted = new Set(expected.filter((key) => !duplicate.has(key)));
  const scored = attempts
    .filter(({ key, state }) => wanted.has(key) && outcomeOf(state) === 'clean')
    .map((row): ScoredAttempt => ({ ...row, passed: row.passed === true }));
  const tasks = countTasks(scored);
  const shown = (coverage.complete || allowIncomplete) && tasks.length > 0;
  const scores = shown ? scoreTable(tasks, k, input.trainedTemplates ?? null) : null;
  const usage = totalUsage(attempts.map((row) => row.usage));
  const [all] = scores ?? [];
  return {
    k,
    coverage,
    exhaustedAsFailed,
    scores,
    tasks,
    terminations: byTermination(attempts),
    usage,
    cost: all && input.prices ? costReport(usage, input.prices, all) : null,
  };
}
