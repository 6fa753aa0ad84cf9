/**
 * Selection of a training pool as a pure function of counted rows:
 *
 *   rows → tally per task → exclusions → assessment and gates → one list, or a train and a test list
 */
import { UsageError } from '../faults.js';
import type { AttemptRow } from '../ledger.js';
import { type Assessment, assessor } from './assess.js';
import { byCodePoint } from './names.js';
import { checkSelectionOptions, type SelectionOptions } from './options.js';
import { splitTasks } from './split.js';
import { cleanRuns, EMPTY_TALLY, type Tally, TallyBuilder } from './tally.js';

export interface SelectionInput {
  readonly policy: ReadonlyMap<string, Tally>;
  /** Null: no reference rows were given, and the screen does not hold. */
  readonly reference: ReadonlyMap<string, Tally> | null;
  readonly excluded: ReadonlySet<string>;
}

export interface Selection {
  readonly options: SelectionOptions;
  readonly referenceRequired: boolean;
  /** Every task with a clean run that is not excluded, by id. */
  readonly assessed: readonly Assessment[];
  /** Eligible tasks, by id; `train` and `test` share them out in split mode, and are null otherwise. */
  readonly selected: readonly string[];
  readonly train: readonly string[] | null;
  readonly test: readonly string[] | null;
  /** Tasks that were tried and never ran cleanly, by id. They are in no list and no band. */
  readonly noCleanRuns: readonly { readonly uid: string; readonly tally: Tally }[];
  readonly summary: SelectionSummary;
}

export interface SelectionSummary {
  readonly inputRows: number;
  /** Tasks in the policy's rows, excluded ones too. */
  readonly aggregatedTasks: number;
  readonly cleanTasks: number;
  readonly excludedPresent: number;
  /** Reasons of rejection; a task can have several. */
  readonly rejections: Readonly<Record<string, number>>;
}

/** Throws `UsageError` for options out of range, and where no task has a clean run: there is nothing to select from. */
export function select(input: SelectionInput, options: SelectionOptions): Selection {
  checkSelectionOptions(options);
  const { policy, reference, excluded } = input;
  const uids = [...policy.keys()].sort(byCodePoint);
  const assess = assessor(options);
  const assessed: Assessment[] = [];
  const noCleanRuns: { uid: string; tally: Tally }[] = [];
  let inputRows = 0;
  let excludedPresent = 0;
  for (const uid of uids) {
    const tally = policy.get(uid)!;
    inputRows += tally.rows;
    if (excluded.has(uid)) excludedPresent += 1;
    else if (cleanRuns(tally) === 0) noCleanRuns.push({ uid, tally });
    else assessed.push(assess(uid, tally, referenceOf(reference, uid)));
  }
  if (assessed.length === 0) {
    throw new UsageError(
      'policy rows',
      'at least one clean run of a task that is not excluded',
      `${inputRows} rows, ${uids.length} tasks, ${excludedPresent} excluded, ${noCleanRuns.length} with system errors only`,
    );
  }
  const eligible = assessed.filter(({ rejections }) => rejections.length === 0);
  const ids = (tasks: readonly Assessment[]) => tasks.map(({ uid }) => uid);
  const split = options.mode === 'split' ? splitTasks(eligible, options.testFraction, options.seed) : null;
  return {
    options,
    referenceRequired: reference !== null,
    assessed,
    selected: ids(eligible),
    train: split && ids(split.train),
    test: split && ids(split.test),
    noCleanRuns,
    summary: {
      inputRows,
      aggregatedTasks: uids.length,
      cleanTasks: assessed.length,
      excludedPresent,
      rejections: countReasons(assessed),
    },
  };
}

/** Counts of a campaign's attempts. An exhausted attempt is a system error; throws `UsageError` while any is pending. */
export function tallyAttempts(attempts: readonly AttemptRow[]): ReadonlyMap<string, Tally> {
  const builder = new TallyBuilder();
  const pending = attempts.filter(({ state }) => state === 'pending');
  if (pending[0]) {
    throw new UsageError(
      `campaign ${pending[0].campaign}`,
      'every attempt finished',
      `${pending.length} of ${attempts.length} pending, the first: ${pending[0].key}`,
      'Start the campaign again: only what is missing is run.',
    );
  }
  for (const [index, { taskId, campaign, passed, state }] of attempts.entries()) {
    const outcome = state === 'exhausted' ? 'system_error' : passed ? 'success' : 'failure';
    const errorKind = outcome === 'system_error' ? 'exhausted' : null;
    builder.add({ uid: taskId, repetition: null, outcome, errorKind }, campaign, index + 1);
  }
  return builder.tallies();
}

/** `select` on a campaign's attempts, for pipelines. */
export function selectFromAttempts(
  attempts: readonly AttemptRow[],
  options: SelectionOptions,
  excluded: ReadonlySet<string> = new Set(),
  reference: readonly AttemptRow[] | null = null,
): Selection {
  const input = {
    policy: tallyAttempts(attempts),
    reference: reference && tallyAttempts(reference),
    excluded,
  };
  return select(input, options);
}

function referenceOf(reference: ReadonlyMap<string, Tally> | null, uid: string): Tally | undefined {
  return reference === null ? undefined : (reference.get(uid) ?? EMPTY_TALLY);
}

function countReasons(assessed: readonly Assessment[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rejections } of assessed) {
    for (const reason of rejections) counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}
