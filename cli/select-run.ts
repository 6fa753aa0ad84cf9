/** What `steadfast select` does, once its options are read. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { bandHistogramSvg } from '../activities/report/histogram.js';
import { countRows, readIdList, writeSelection } from '../activities/report/select-files.js';
import type { AttemptsConfig } from '../core/campaign.js';
import { UsageError } from '../core/faults.js';
import { campaignId } from '../core/keys.js';
import type { AttemptRow } from '../core/ledger.js';
import { bandNamed } from '../core/selection/bands.js';
import { aggregateLines, listDocuments, manifestContent } from '../core/selection/documents.js';
import { bandHistogram, histogramText } from '../core/selection/histogram.js';
import { sortedJson } from '../core/selection/names.js';
import { SELECTION_DEFAULTS, type SelectionOptions } from '../core/selection/options.js';
import { type FieldNames, rowReader, UNNAMED_SYSTEM_ERROR_FIELDS } from '../core/selection/rows.js';
import { type Selection, select, tallyAttempts } from '../core/selection/select.js';
import type { Tally } from '../core/selection/tally.js';
import type { SelectDeps, SelectFlags } from './select.js';
import { benchmarkAmong, benchmarkWarning } from './select-benchmark.js';

/** Rows counted, and what the manifest says of where they came from. */
interface Source {
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly sha256: readonly string[];
  readonly warnings: readonly string[];
  readonly dropped: number;
  /** Of the reference screen of a campaign; absent: there was none. */
  readonly campaign?: string;
}

/** Policy rows, with those of the reference screen that went before them. */
interface PolicySource extends Source {
  readonly screen: Source | null;
  /** Of the campaign that the rows are of; absent: rows of files, which do not say. */
  readonly suite?: string;
}

/** Throws `UsageError` for anything wrong with options or rows, before a file is written. */
export async function runSelect(flags: SelectFlags, deps: SelectDeps): Promise<void> {
  const options = selectionOptions(flags);
  const fields = fieldsOf(flags);
  const dropIdentical = flags.dropIdentical ?? false;
  const policy = await policySource(flags, fields.policy, dropIdentical, deps);
  const reference: Source | null =
    flags.reference.length === 0
      ? policy.screen
      : await countRows(flags.reference, rowReader(fields.reference), dropIdentical);
  const exclusions = flags.excludeUids === undefined ? null : await readIdList(flags.excludeUids);
  const kept = flags.keepBenchmark ?? false;
  const benchmark = await benchmarkAmong(policy.tallies.keys(), {
    suite: flags.suite ?? policy.suite,
    required: flags.suite !== undefined,
  });
  if (!kept && benchmark.ids.length > 0 && benchmark.ids.length === policy.tallies.size) {
    throw new UsageError(
      'rows of the policy',
      'candidates for a pool',
      `benchmark tasks alone, ${benchmark.ids.length} of them, e.g. ${benchmark.ids[0]}`,
      'With --keep-benchmark they are looked at all the same.',
    );
  }

  const selection = select(
    {
      policy: policy.tallies,
      reference: reference?.tallies ?? null,
      excluded: new Set([...(exclusions?.uids ?? []), ...(kept ? [] : benchmark.ids)]),
    },
    options,
  );
  const bands = bandHistogram(selection);
  const warnings = [...policy.warnings, ...(reference?.warnings ?? []), ...benchmark.warnings];
  if (benchmark.ids.length > 0) warnings.push(benchmarkWarning(benchmark.ids, kept));
  if (selection.selected.length === 0) warnings.push('no task is eligible: the lists are empty');
  const documents = {
    ...listDocuments(selection),
    'aggregates.jsonl': () => aggregateLines(selection),
    'histogram.svg': bandHistogramSvg(bands, `${selection.assessed.length} candidates by difficulty`),
  };
  const manifest = {
    ...manifestContent(selection),
    program: { name: 'steadfast', version: deps.programVersion },
    field_names: {
      policy: flags.campaign === undefined ? fieldNames(fields.policy) : null,
      reference: reference && fieldNames(fields.reference),
    },
    inputs: {
      policy: flags.campaign === undefined ? flags.policy : [`ledger:${flags.campaign}`],
      reference: reference?.campaign === undefined ? flags.reference : [`ledger:${reference.campaign}`],
      exclusions: flags.excludeUids ?? null,
    },
    input_sha256: {
      policy: policy.sha256,
      reference: reference?.sha256 ?? [],
      exclusions: exclusions?.sha256 ?? null,
    },
    benchmark: { left_out: kept ? [] : benchmark.ids, kept: kept ? benchmark.ids : [] },
    dropped_identical_rows: policy.dropped + (reference?.dropped ?? 0),
    warnings,
  };
  await writeSelection(flags.outputDir, documents, manifest, flags.force ?? false);

  for (const warning of warnings) deps.err(`warning: ${warning}\n`);
  if (flags.json) deps.out(`${sortedJson({ ...manifest, bands, output_dir: flags.outputDir })}\n`);
  else deps.out(summaryText(selection, histogramText(bands), Object.keys(documents), flags.outputDir));
}

function selectionOptions(flags: SelectFlags): SelectionOptions {
  if (flags.mode !== 'selection' && flags.mode !== 'split') {
    throw new UsageError('--mode', 'selection or split', `"${flags.mode}"`);
  }
  const bands = flags.retainBand.map((band) => bandNamed(band, '--retain-band'));
  return {
    mode: flags.mode,
    minCleanRuns: flags.minCleanRuns,
    retainBands: bands.length === 0 ? SELECTION_DEFAULTS.retainBands : [...new Set(bands)],
    referenceMinCleanRuns: flags.referenceMinCleanRuns,
    referenceMinSuccesses: flags.referenceMinSuccesses,
    referenceThreshold: flags.referenceSolvabilityThreshold ?? null,
    referenceMinProbability: flags.referenceMinProbabilityAbove ?? null,
    testFraction: flags.testFraction,
    seed: flags.seed,
  };
}

function fieldsOf(flags: SelectFlags): { policy: FieldNames; reference: FieldNames } {
  const policy = {
    uid: flags.uidField,
    success: flags.successField,
    systemError: flags.systemErrorField ?? null,
  };
  const reference = {
    uid: flags.referenceUidField ?? policy.uid,
    success: flags.referenceSuccessField ?? policy.success,
    systemError: flags.referenceSystemErrorField ?? policy.systemError,
  };
  return { policy, reference };
}

function fieldNames({ uid, success, systemError }: FieldNames): Record<string, unknown> {
  return {
    uid,
    success,
    system_error: systemError ?? UNNAMED_SYSTEM_ERROR_FIELDS,
    system_error_named: systemError !== null,
    repetition: 'metadata.repetition',
  };
}

async function policySource(
  flags: SelectFlags,
  fields: FieldNames,
  dropIdentical: boolean,
  deps: SelectDeps,
): Promise<PolicySource> {
  const { campaign, policy } = flags;
  if ((campaign === undefined) === (policy.length === 0)) {
    const found = campaign === undefined ? 'neither' : 'both';
    throw new UsageError('--policy and --campaign', 'rows from one of the two', found);
  }
  if (campaign === undefined) {
    return { ...(await countRows(policy, rowReader(fields), dropIdentical)), screen: null };
  }
  const { attempts, screen, suite } = await campaignAttempts(campaign, deps);
  return {
    ...counted(attempts),
    suite,
    screen: screen && { ...counted(screen.attempts), campaign: screen.campaign },
  };
}

function counted(attempts: readonly AttemptRow[]): Source {
  const lines = attempts.map(({ key, state, passed }) => `${key}\t${state}\t${passed}\n`).sort();
  const sha256 = createHash('sha256').update(lines.join('')).digest('hex');
  return { tallies: tallyAttempts(attempts), sha256: [sha256], warnings: [], dropped: 0 };
}

interface CampaignAttempts {
  readonly suite: string;
  readonly attempts: readonly AttemptRow[];
  /** Of the reference screen that went before it; null: none did. */
  readonly screen: { readonly campaign: string; readonly attempts: readonly AttemptRow[] } | null;
}

async function campaignAttempts(name: string, deps: SelectDeps): Promise<CampaignAttempts> {
  const id = name.startsWith('probe/') ? name : campaignId('probe', name);
  const { ledger, close } = await deps.loadLedger();
  try {
    const row = await ledger.campaign(id);
    if (!row) throw new UsageError('--campaign', 'a probe campaign in the ledger', `no "${id}"`);
    const attempts = await ledger.attempts(id);
    const { tasks, repeat, screenedBy } = row.config as AttemptsConfig;
    if (attempts.length < tasks.length * repeat) {
      const found = `${attempts.length} planned so far of ${tasks.length * repeat}`;
      throw new UsageError(
        `campaign ${id}`,
        'every attempt finished',
        found,
        'Start it again to go on with it.',
      );
    }
    const reference = screenedBy?.campaign;
    return {
      suite: row.suite,
      attempts,
      screen:
        reference === undefined ? null : { campaign: reference, attempts: await ledger.attempts(reference) },
    };
  } finally {
    await close();
  }
}

function summaryText(
  selection: Selection,
  histogram: string,
  names: readonly string[],
  folder: string,
): string {
  const { summary, selected, train, test, noCleanRuns } = selection;
  const split = train && test ? `: ${train.length} to train on, ${test.length} held out` : '';
  const reasons = Object.entries(summary.rejections).map(([reason, count]) => `${count} ${reason}`);
  const lines = [
    `${summary.inputRows} rows of ${summary.aggregatedTasks} tasks; ${summary.cleanTasks} assessed, ${summary.excludedPresent} excluded`,
    `${selected.length} selected${split}`,
    `left out: ${reasons.join(', ') || 'none'}`,
  ];
  if (noCleanRuns.length > 0) {
    const shown = noCleanRuns.slice(0, 10).map(({ uid, tally }) => {
      const kinds = Object.entries(tally.errorKinds).map(([kind, count]) => `${count} ${kind}`);
      return `  ${uid}: ${kinds.join(', ')}`;
    });
    const more = noCleanRuns.length > shown.length ? ['  ... (all in manifest.json)'] : [];
    lines.push(`${noCleanRuns.length} tasks have system errors only (no_clean_runs):`, ...shown, ...more);
  }
  const written = [...names, 'manifest.json'].map((name) => join(folder, name));
  return `${histogram}\n${lines.join('\n')}\nwritten: ${written.join(', ')}\n`;
}
