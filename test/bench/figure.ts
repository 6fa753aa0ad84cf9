/** What a benchmark gives back: figures against the bars of the project's issues, as one JSON document shows them. */

export interface Figure {
  readonly figure: string;
  /** The bar in words, with its unit. */
  readonly bar: string;
  /** What we aim at beyond the bar, or null. */
  readonly target: string | null;
  readonly measured: number;
  readonly unit: string;
  readonly holds: boolean;
  /** What the number was made from, and what else was seen on the way. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface BenchOptions {
  /** Few episodes, to see that the benchmark works: its figures say nothing. */
  readonly quick: boolean;
  /** Seeds of the learning benchmark. */
  readonly seeds: readonly number[];
  /** Training steps of the learning benchmark. */
  readonly steps: number;
  /** Learning through the plain loop in place of the durable pipeline: the same recipe at a smaller cost. */
  readonly plain: boolean;
  /** Progress, for standard error. */
  readonly say: (line: string) => void;
}

export interface Bench {
  readonly name: string;
  /** What runs and how long it takes on two idle cores. */
  readonly about: string;
  /** Throws for what keeps it from measuring at all; a figure that misses its bar is data. */
  run(options: BenchOptions): Promise<readonly Figure[]>;
}

export function rounded(value: number, digits = 2): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
