/** All rows of one evaluation that ran elsewhere: coverage first, then scores. Keeps one small record a row. */
import { UsageError } from '../faults.js';
import { type EpisodeTime, episodeTime, type ToolUse, toolUse } from '../metrics/conduct.js';
import { type Coverage, checkCoverage, type KeyedRow } from '../metrics/coverage.js';
import { type Score, scoreTable } from '../metrics/scores.js';
import { countTasks, type ScoredAttempt, type TaskCounts } from '../metrics/tasks.js';
import type { TerminationCounts } from '../metrics/usage.js';
import type { ResultRow, RowTokens } from './rows.js';

export interface ResultsPlan {
  /** Expected tasks, each once. */
  readonly taskIds: readonly string[];
  /** Repetitions 0 .. repeat - 1 of each. */
  readonly repeat: number;
  readonly allowIncomplete: boolean;
  readonly systemErrorsAsFailed: boolean;
  /** Short name of a scenario; the scenario's own where absent. */
  readonly domainOf?: (scenario: string) => string;
}

/** Where a row stands, so that its conversation can be read when it is wanted. */
export interface RowPlace {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

export type PlacedRow = ResultRow & RowPlace;

export interface ResultsSummary {
  readonly rows: number;
  readonly k: number;
  readonly coverage: Coverage;
  /** Null while coverage is incomplete, unless that was allowed. The first line is `all`. */
  readonly scores: readonly Score[] | null;
  readonly tasks: readonly TaskCounts[];
  /** Reasons why conversations ended, in the rows' own words. */
  readonly endings: Readonly<Record<string, TerminationCounts>>;
  /** Null unless every clean row has token counts; a lost one may have been lost before its first token. */
  readonly tokens: RowTokens | null;
  /** Clean rows without token counts: with one of them there is no sum. */
  readonly rowsWithoutTokens: number;
  readonly tools: ToolUse | null;
  readonly time: EpisodeTime | null;
  /** Expected rows, each key once. */
  readonly placed: readonly PlacedRow[];
}

export class ResultSet {
  readonly #rows: PlacedRow[] = [];

  add(row: PlacedRow): void {
    this.#rows.push(row);
  }

  /** Throws `UsageError` for a plan without tasks or repetitions. */
  summary(plan: ResultsPlan): ResultsSummary {
    const {
      taskIds,
      repeat,
      allowIncomplete,
      systemErrorsAsFailed,
      domainOf = (scenario) => scenario,
    } = plan;
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
    const tasks = countTasks(rows.filter(scorable).map((row) => scored(row, domainOf(row.domain))));
    const shown = (coverage.complete || allowIncomplete) && tasks.length > 0;
    return {
      rows: this.#rows.length,
      k: repeat,
      coverage,
      scores: shown ? scoreTable(tasks, repeat) : null,
      tasks,
      endings: countEndings(rows),
      tokens: sumTokens(rows),
      rowsWithoutTokens: rows.filter(unknownTokens).length,
      tools: toolUse(rows),
      time: episodeTime(rows),
      placed: rows,
    };
  }
}

/** `shop.py:test_a · 3` */
export function resultKey({ taskId, repetition }: Pick<ResultRow, 'taskId' | 'repetition'>): string {
  return `${taskId} · ${repetition}`;
}

function scored({ taskId, outcome }: ResultRow, domain: string): ScoredAttempt {
  return { taskId, domain, template: taskId, passed: outcome === 'passed' };
}

function countEndings(rows: readonly ResultRow[]): Record<string, TerminationCounts> {
  const counts = new Map<string, TerminationCounts>();
  for (const row of rows) {
    const { outcome } = row;
    // What the runner writes as the ending of a lost episode says nothing.
    const ending = outcome === 'system_error' ? 'system_error' : row.ending;
    const before = counts.get(ending) ?? { attempts: 0, passed: 0 };
    const passed = before.passed + (outcome === 'passed' ? 1 : 0);
    counts.set(ending, { attempts: before.attempts + 1, passed });
  }
  return Object.fromEntries(counts);
}

function unknownTokens({ tokens, outcome }: ResultRow): boolean {
  return tokens === null && outcome !== 'system_error';
}

function sumTokens(rows: readonly ResultRow[]): ResultsSummary['tokens'] {
  let prompt = 0;
  let sampled = 0;
  let calls = 0;
  if (rows.every(({ tokens }) => tokens === null) || rows.some(unknownTokens)) return null;
  for (const { tokens } of rows) {
    if (tokens === null) continue;
    prompt += tokens.prompt;
    sampled += tokens.sampled;
    calls += tokens.calls;
  }
  return { prompt, sampled, calls };
}
