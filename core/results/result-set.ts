/** All rows of one evaluation that ran elsewhere: coverage first, then scores. Keeps one small record a row. */
import { UsageError } from '../faults.js';
import { type Coverage, checkCoverage, type KeyedRow } from '../metrics/coverage.js';
import { type Score, scoreTable } from '../metrics/scores.js';
import { countTasks, type ScoredAttempt, type TaskCounts } from '../metrics/tasks.js';
import type { TerminationCounts } from '../metrics/usage.js';
import type { ResultRow } from './rows.js';

export interface ResultsPlan {
  /** Expected tasks, each once. */
  readonly taskIds: readonly string[];
  /** Repetitions 0 .. repeat - 1 of each. */
  readonly repeat: number;
  readonly allowIncomplete: boolean;
  readonly systemErrorsAsFailed: boolean;
}

export interface ResultsSummary {
  readonly rows: number;
  readonly k: number;
  readonly coverage: Coverage;
  /** Null while coverage is incomplete, unless that was allowed. The first line is `all`. */
  readonly scores: readonly Score[] | null;
  readonly tasks: readonly TaskCounts[];
  /** Reasons why conversations ended, in the rows' own words. */
  readonly endings: Readonly<Record<string, TerminationCounts>>;
  /** Null unless every expected row that is there has token counts. */
  readonly tokens: { readonly prompt: number; readonly sampled: number } | null;
}

export class ResultSet {
  readonly #rows: ResultRow[] = [];

  add(row: ResultRow): void {
    this.#rows.push(row);
  }

  /** Throws `UsageError` for a plan without tasks or repetitions. */
  summary(plan: ResultsPlan): ResultsSummary {
    const { taskIds, repeat, allowIncomplete, systemErrorsAsFailed } = plan;
    if (!Number.isSafeInteger(repeat) || repeat < 1) {
      throw new UsageError('--repeat', 'an integer from 1', String(repeat));
    }
    if (taskIds.length === 0) throw new UsageError('--tests', 'at least one task', 'none');
    const expected = taskIds.flatMap((taskId) =>
      Array.from({ length: repeat }, (_, repetition) => resultKey({ taskId, repetition })),
    );
    const scorable = (row: ResultRow) => row.outcome !== 'system_error' || systemErrorsAsFailed;
    const keyed = this.#rows.map(
      (row): KeyedRow => ({ key: resultKey(row), outcome: scorable(row) ? 'clean' : 'system_error' }),
    );
    const coverage = checkCoverage(expected, keyed);
    const duplicate = new Set(coverage.duplicate);
    const wanted = new Set(expected.filter((key) => !duplicate.has(key)));
    const rows = this.#rows.filter((row) => wanted.has(resultKey(row)));
    const tasks = countTasks(rows.filter(scorable).map(scored));
    const shown = (coverage.complete || allowIncomplete) && tasks.length > 0;
    return {
      rows: this.#rows.length,
      k: repeat,
      coverage,
      scores: shown ? scoreTable(tasks, repeat) : null,
      tasks,
      endings: countEndings(rows),
      tokens: sumTokens(rows),
    };
  }
}

/** `shop.py:test_a · 3` */
export function resultKey({ taskId, repetition }: Pick<ResultRow, 'taskId' | 'repetition'>): string {
  return `${taskId} · ${repetition}`;
}

function scored({ taskId, domain, outcome }: ResultRow): ScoredAttempt {
  return { taskId, domain, template: taskId, passed: outcome === 'passed' };
}

function countEndings(rows: readonly ResultRow[]): Record<string, TerminationCounts> {
  const counts = new Map<string, TerminationCounts>();
  for (const { ending, outcome } of rows) {
    const before = counts.get(ending) ?? { attempts: 0, passed: 0 };
    const passed = before.passed + (outcome === 'passed' ? 1 : 0);
    counts.set(ending, { attempts: before.attempts + 1, passed });
  }
  return Object.fromEntries(counts);
}

function sumTokens(rows: readonly ResultRow[]): ResultsSummary['tokens'] {
  let prompt = 0;
  let sampled = 0;
  for (const { tokens } of rows) {
    if (tokens === null) return null;
    prompt += tokens.prompt;
    sampled += tokens.sampled;
  }
  return rows.length === 0 ? null : { prompt, sampled };
}
