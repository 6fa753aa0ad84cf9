/** The coverage gate: expected attempt keys against the rows that are there. No score is shown until they match. */
import { attemptKey } from '../keys.js';

export interface KeyedRow {
  readonly key: string;
  /** `absent`: planned, not finished yet. */
  readonly outcome: 'clean' | 'system_error' | 'absent';
}

export interface Coverage {
  readonly expected: number;
  /** Expected keys with exactly one row, which is clean. */
  readonly clean: number;
  readonly complete: boolean;
  /** Keys in the order in which they were expected; the last two in order of appearance. */
  readonly missing: readonly string[];
  readonly systemError: readonly string[];
  readonly duplicate: readonly string[];
  readonly unexpected: readonly string[];
}

/** A key with several rows is a duplicate whatever they say; with one row it is clean, a system error, or missing. */
export function checkCoverage(expected: readonly string[], rows: Iterable<KeyedRow>): Coverage {
  const wanted = new Set(expected);
  const found = new Map<string, KeyedRow['outcome']>();
  const duplicate = new Set<string>();
  const unexpected = new Set<string>();
  for (const { key, outcome } of rows) {
    if (outcome === 'absent') continue;
    if (!wanted.has(key)) unexpected.add(key);
    else if (found.has(key)) duplicate.add(key);
    else found.set(key, outcome);
  }
  const single = [...wanted].filter((key) => !duplicate.has(key));
  const withOutcome = (outcome: KeyedRow['outcome'] | undefined) =>
    single.filter((key) => found.get(key) === outcome);
  const clean = withOutcome('clean').length;
  return {
    expected: wanted.size,
    clean,
    complete: clean === wanted.size && unexpected.size === 0,
    missing: withOutcome(undefined),
    systemError: withOutcome('system_error'),
    duplicate: [...duplicate],
    unexpected: [...unexpected],
  };
}

/** Keys of tasks × repetitions, tasks outermost: `owner · task · 0` ... */
export function expectedKeys(owner: string, taskIds: readonly string[], repeat: number): string[] {
  return taskIds.flatMap((taskId) =>
    Array.from({ length: repeat }, (_, repetition) => attemptKey(owner, taskId, String(repetition))),
  );
}
