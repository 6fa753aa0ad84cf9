/** What a selection writes: the id lists, `aggregates.jsonl` and the manifest's content. Key names are the reference pipeline's. */
import type { Assessment } from './assess.js';
import { BANDS } from './bands.js';
import { sortedJson } from './names.js';
import type { Selection } from './select.js';
import { yamlList } from './yaml-list.js';

/** File name → content of the id lists. */
export function listDocuments({ selected, train, test }: Selection): Readonly<Record<string, string>> {
  if (train === null || test === null) return { 'selected.yaml': yamlList(selected) };
  return { 'train.yaml': yamlList(train), 'test.yaml': yamlList(test) };
}

/** Lines of `aggregates.jsonl`: one compact object with sorted keys per assessed task. */
export function* aggregateLines({ assessed }: Selection): Generator<string> {
  for (const task of assessed) yield `${sortedJson(aggregateOf(task))}\n`;
}

function aggregateOf(task: Assessment): Record<string, unknown> {
  const { tally, posterior, reference, passRate } = task;
  return {
    uid: task.uid,
    total_rows: tally.rows,
    clean_runs: task.cleanRuns,
    successes: tally.successes,
    failures: tally.failures,
    system_errors: tally.systemErrors,
    pass_rate: passRate,
    standard_error: task.standardError,
    bernoulli_variance: passRate * (1 - passRate),
    posterior_alpha: posterior.alpha,
    posterior_beta: posterior.beta,
    posterior_band_masses: posterior.masses,
    difficulty: posterior.band,
    difficulty_mass: posterior.masses[posterior.band],
    credible_interval: [posterior.low, posterior.high],
    credible_interval_width: posterior.high - posterior.low,
    training_value: task.trainingValue,
    priority_score: task.priorityScore,
    reference_total_rows: reference.tally.rows,
    reference_clean_runs: reference.cleanRuns,
    reference_successes: reference.tally.successes,
    reference_failures: reference.tally.failures,
    reference_system_errors: reference.tally.systemErrors,
    reference_probability_above_threshold: reference.probabilityAbove,
    reference_solvable: reference.solvable,
    eligible: task.rejections.length === 0,
    rejection_reasons: task.rejections,
  };
}

/** The manifest without the hashes of inputs and outputs, which whoever reads and writes the files adds. */
export function manifestContent(selection: Selection): Record<string, unknown> {
  const { options, summary, noCleanRuns, train, test } = selection;
  const split = options.mode === 'split';
  return {
    schema_version: 1,
    mode: options.mode,
    configuration: {
      min_clean_runs: options.minCleanRuns,
      retained_bands: [...options.retainBands].sort(),
      reference_required: selection.referenceRequired,
      reference_min_clean_runs: options.referenceMinCleanRuns,
      reference_min_successes: options.referenceMinSuccesses,
      reference_solvability_threshold: options.referenceThreshold,
      reference_min_probability_above: options.referenceMinProbability,
      seed: split ? options.seed : null,
      test_fraction: split ? options.testFraction : null,
    },
    fixed_bands: Object.fromEntries(BANDS.map(({ band, low, high }) => [band, [low, high]])),
    summary: {
      input_rows: summary.inputRows,
      aggregated_tasks: summary.aggregatedTasks,
      clean_tasks: summary.cleanTasks,
      excluded_uids_present: summary.excludedPresent,
      rejections: summary.rejections,
      selected_tasks: selection.selected.length,
      train_tasks: train?.length ?? null,
      test_tasks: test?.length ?? null,
      no_clean_runs: noCleanRuns.length,
    },
    no_clean_runs: Object.fromEntries(
      noCleanRuns.map(({ uid, tally }) => [
        uid,
        { system_errors: tally.systemErrors, kinds: tally.errorKinds },
      ]),
    ),
    balance_audit: train && test ? balanceAudit(selection.assessed, train, test) : null,
  };
}

/** How alike the two sides of a split are. */
function balanceAudit(
  assessed: readonly Assessment[],
  trainIds: readonly string[],
  testIds: readonly string[],
) {
  const byUid = new Map(assessed.map((task) => [task.uid, task]));
  const tasksOf = (uids: readonly string[]) => uids.map((uid) => byUid.get(uid)!);
  const sides = { train: tasksOf(trainIds), test: tasksOf(testIds) };
  const both = <T>(of: (tasks: readonly Assessment[]) => T) => ({
    train: of(sides.train),
    test: of(sides.test),
  });
  const total = trainIds.length + testIds.length;
  return {
    clean_runs: both((tasks) => spread(tasks.map(({ cleanRuns }) => cleanRuns))),
    pass_rate: both((tasks) => spread(tasks.map(({ passRate }) => passRate))),
    difficulty_distribution: both((tasks) => shares(tasks.map(({ posterior }) => posterior.band))),
    training_value_distribution: both((tasks) => shares(tasks.map(({ trainingValue }) => trainingValue))),
    split_sizes: {
      total,
      train: trainIds.length,
      test: testIds.length,
      train_fraction: total === 0 ? null : trainIds.length / total,
      test_fraction: total === 0 ? null : testIds.length / total,
    },
  };
}

/** Mean and population standard deviation; null of nothing. */
function spread(values: readonly number[]): { mean: number | null; std: number | null } {
  if (values.length === 0) return { mean: null, std: null };
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, std: Math.sqrt(variance) };
}

function shares(names: readonly string[]): Record<string, { count: number; fraction: number }> {
  const result: Record<string, { count: number; fraction: number }> = {};
  for (const name of names) {
    const count = (result[name]?.count ?? 0) + 1;
    result[name] = { count, fraction: count / names.length };
  }
  return result;
}
