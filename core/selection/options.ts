/** Options of a selection, their defaults and their checks. */
import { UsageError } from '../faults.js';
import type { BandName } from './bands.js';

export interface SelectionOptions {
  /** `selection`: one list. `split`: a train and a test list. */
  readonly mode: 'selection' | 'split';
  /** Clean runs that a task needs. */
  readonly minCleanRuns: number;
  readonly retainBands: readonly BandName[];
  /** The reference screen holds only where reference rows were given. */
  readonly referenceMinCleanRuns: number;
  readonly referenceMinSuccesses: number;
  /** Both or neither: P(reference rate > threshold) must reach the probability. */
  readonly referenceThreshold: number | null;
  readonly referenceMinProbability: number | null;
  /** Share of each split family that is held out. */
  readonly testFraction: number;
  readonly seed: number;
}

export const SELECTION_DEFAULTS: SelectionOptions = {
  mode: 'selection',
  minCleanRuns: 3,
  retainBands: ['hard', 'medium', 'easy'],
  referenceMinCleanRuns: 1,
  referenceMinSuccesses: 1,
  referenceThreshold: null,
  referenceMinProbability: null,
  testFraction: 0.2,
  seed: 42,
};

/** Throws `UsageError` that names the command-line option. */
export function checkSelectionOptions(options: SelectionOptions): void {
  const expect = (holds: boolean, option: string, expected: string, found: unknown) => {
    if (!holds) throw new UsageError(option, expected, String(found));
  };
  const count = (option: string, value: number, least: number) =>
    expect(Number.isSafeInteger(value) && value >= least, option, `an integer from ${least}`, value);
  count('--min-clean-runs', options.minCleanRuns, 1);
  count('--reference-min-clean-runs', options.referenceMinCleanRuns, 0);
  count('--reference-min-successes', options.referenceMinSuccesses, 0);
  expect(Number.isSafeInteger(options.seed), '--seed', 'an integer', options.seed);
  expect(options.retainBands.length > 0, '--retain-band', 'at least one band', 'none');
  const { testFraction, referenceThreshold: threshold, referenceMinProbability: probability } = options;
  expect(testFraction > 0 && testFraction < 1, '--test-fraction', 'a number between 0 and 1', testFraction);
  expect(
    (threshold === null) === (probability === null),
    '--reference-solvability-threshold and --reference-min-probability-above',
    'both or neither',
    threshold === null ? 'only the second' : 'only the first',
  );
  if (threshold === null || probability === null) return;
  const share = 'a number from 0 to 1';
  expect(threshold >= 0 && threshold <= 1, '--reference-solvability-threshold', share, threshold);
  expect(probability >= 0 && probability <= 1, '--reference-min-probability-above', share, probability);
}
