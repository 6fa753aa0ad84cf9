/** Counts per task, in one pass over rows of any number of files. Memory grows with tasks and repetitions, not with bytes. */
import { UsageError } from '../faults.js';
import type { ProbeRow } from './rows.js';

export interface Tally {
  readonly rows: number;
  readonly successes: number;
  readonly failures: number;
  readonly systemErrors: number;
  /** System errors by what the rows called them. */
  readonly errorKinds: Readonly<Record<string, number>>;
}

export const EMPTY_TALLY: Tally = { rows: 0, successes: 0, failures: 0, systemErrors: 0, errorKinds: {} };

export function cleanRuns({ successes, failures }: Tally): number {
  return successes + failures;
}

interface OpenTally {
  rows: number;
  successes: number;
  failures: number;
  systemErrors: number;
  errorKinds: Record<string, number>;
  /** repetition → where it was last seen: index of the file × 2^32 + line. One number: there may be millions. */
  seen: Map<number, number>;
}

const LINES = 2 ** 32;

export class TallyBuilder {
  readonly #tasks = new Map<string, OpenTally>();
  /** Rows whose repetition another file holds too, by `first file` NUL `second file`. */
  readonly #shared = new Map<string, number>();
  readonly #files: string[] = [];
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  /**
   * Counts one row. A repetition that the same file already holds for this task is refused with `UsageError`: it
   * would count twice. In another file it counts, since repetitions may start again there, and `warnings` names both.
   */
  add(row: ProbeRow, file: string, line: number): void {
    const task = this.#task(row.uid);
    if (row.repetition !== null) this.#notice(task, row.uid, row.repetition, file, line);
    this.#rows += 1;
    task.rows += 1;
    if (row.outcome === 'success') task.successes += 1;
    else if (row.outcome === 'failure') task.failures += 1;
    else {
      const kind = row.errorKind ?? 'unknown';
      task.systemErrors += 1;
      task.errorKinds[kind] = (task.errorKinds[kind] ?? 0) + 1;
    }
  }

  tallies(): ReadonlyMap<string, Tally> {
    return this.#tasks;
  }

  warnings(): string[] {
    return [...this.#shared].map(([files, rows]) => {
      const [first, second] = files.split('\0');
      return `${rows} rows of ${second} repeat a task and repetition of ${first}; all were counted`;
    });
  }

  #task(uid: string): OpenTally {
    const known = this.#tasks.get(uid);
    if (known) return known;
    const fresh: OpenTally = {
      rows: 0,
      successes: 0,
      failures: 0,
      systemErrors: 0,
      errorKinds: {},
      seen: new Map(),
    };
    this.#tasks.set(uid, fresh);
    return fresh;
  }

  #notice(task: OpenTally, uid: string, repetition: number, file: string, line: number): void {
    if (this.#files.at(-1) !== file) this.#files.push(file);
    const index = this.#files.length - 1;
    const before = task.seen.get(repetition);
    task.seen.set(repetition, index * LINES + line);
    if (before === undefined) return;
    const first = this.#files[Math.floor(before / LINES)] as string;
    if (first === file) {
      throw new UsageError(
        `${file}:${line}`,
        'each repetition of a task once',
        `repetition ${repetition} of "${uid}", which line ${before % LINES} has already`,
        'Use --drop-identical if whole lines were written twice.',
      );
    }
    const files = `${first}\0${file}`;
    this.#shared.set(files, (this.#shared.get(files) ?? 0) + 1);
  }
}
