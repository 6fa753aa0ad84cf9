/** `steadfast select`: from probe rows to a training pool. Option names are the reference pipeline's, plus ours. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Ledger } from '../core/ledger.js';
import { SELECTION_DEFAULTS } from '../core/selection/options.js';
import { DEFAULT_FIELDS } from '../core/selection/rows.js';

export interface SelectDeps {
  /** Written into the manifest. */
  readonly programVersion: string;
  /** Opened only for `--campaign`. */
  loadLedger(): Promise<{ readonly ledger: Ledger; close(): Promise<void> }>;
  /** Standard output and standard error. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Options as commander hands them over. */
export interface SelectFlags {
  readonly policy: readonly string[];
  readonly reference: readonly string[];
  readonly campaign?: string;
  readonly outputDir: string;
  readonly uidField: string;
  readonly successField: string;
  readonly systemErrorField?: string;
  readonly referenceUidField?: string;
  readonly referenceSuccessField?: string;
  readonly referenceSystemErrorField?: string;
  readonly excludeUids?: string;
  readonly suite?: string;
  readonly keepBenchmark?: boolean;
  readonly minCleanRuns: number;
  readonly retainBand: readonly string[];
  readonly referenceMinCleanRuns: number;
  readonly referenceMinSuccesses: number;
  readonly referenceSolvabilityThreshold?: number;
  readonly referenceMinProbabilityAbove?: number;
  readonly mode: string;
  readonly testFraction: number;
  readonly seed: number;
  readonly dropIdentical?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function registerSelect(program: Command, deps: SelectDeps): void {
  program
    .command('select')
    .description('choose a training pool from probe rows: bands, reference screen, deterministic split')
    .option('--policy <file>', 'JSON Lines with rows of the policy (repeatable)', append, [])
    .option(
      '--reference <file>',
      'rows of a stronger model; turns the reference screen on (repeatable)',
      append,
      [],
    )
    .option('--campaign <name>', 'take the policy rows from this probe campaign in the ledger')
    .requiredOption('--output-dir <folder>', 'where the lists, aggregates and manifest go')
    .option('--uid-field <path>', 'field of the task id', DEFAULT_FIELDS.uid)
    .option('--success-field <path>', 'field that says whether the check passed', DEFAULT_FIELDS.success)
    .option(
      '--system-error-field <path>',
      'field that marks a system error; a boolean on every row once named',
    )
    .option('--reference-uid-field <path>', 'the same for reference rows (default: as for the policy)')
    .option('--reference-success-field <path>', 'the same for reference rows (default: as for the policy)')
    .option(
      '--reference-system-error-field <path>',
      'the same for reference rows (default: as for the policy)',
    )
    .option('--exclude-uids <file>', 'ids to leave out: a list, or {"uids": [...]}, YAML or JSON')
    .option('--suite <name>', 'suite of the rows: copies of its benchmark under other ids are left out too')
    .option('--keep-benchmark', 'do not leave out benchmark tasks; probe and train refuse them all the same')
    .option(
      '--min-clean-runs <count>',
      'clean runs that a task needs',
      number,
      SELECTION_DEFAULTS.minCleanRuns,
    )
    .option('--retain-band <band>', 'band to keep (repeatable; default: hard, medium, easy)', append, [])
    .option(
      '--reference-min-clean-runs <count>',
      'clean reference runs that a task needs',
      number,
      SELECTION_DEFAULTS.referenceMinCleanRuns,
    )
    .option(
      '--reference-min-successes <count>',
      'reference successes that a task needs',
      number,
      SELECTION_DEFAULTS.referenceMinSuccesses,
    )
    .option('--reference-solvability-threshold <rate>', 'with the next: P(reference rate > this) ...', number)
    .option('--reference-min-probability-above <share>', '... must be at least this', number)
    .option('--mode <mode>', 'selection (one list) or split (train and test)', SELECTION_DEFAULTS.mode)
    .option(
      '--test-fraction <share>',
      'share of every family of tasks that is held out',
      number,
      SELECTION_DEFAULTS.testFraction,
    )
    .option('--seed <integer>', 'seed of the split', number, SELECTION_DEFAULTS.seed)
    .option('--drop-identical', 'leave out lines that repeat an earlier one byte for byte')
    .option('--force', 'replace another selection in the folder')
    .option('--json', 'print one JSON document')
    .action(async (flags: SelectFlags) => {
      const { runSelect } = await import('./select-run.js');
      await runSelect(flags, deps);
    });
}

function append(value: string, previous: readonly string[]): string[] {
  return [...previous, value];
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('Expected a number.');
  return value;
}
