/** The probe campaign and what selection made of it. */
import type { AttemptsConfig, PipelineConfig } from '../../../core/campaign.js';
import { UsageError } from '../../../core/faults.js';
import type { AttemptRow } from '../../../core/ledger.js';
import { expectedKeys } from '../../../core/metrics/coverage.js';
import type { BandReport, ProbeReport } from '../../../core/report-data.js';
import { bandNamed } from '../../../core/selection/bands.js';
import { bandHistogram } from '../../../core/selection/histogram.js';
import { SELECTION_DEFAULTS } from '../../../core/selection/options.js';
import { selectFromAttempts } from '../../../core/selection/select.js';
import { secondsBetween } from '../format.js';
import { type Campaign, coverageOf } from './source.js';

/** What the pipeline's result keeps of its selection. */
interface Kept {
  readonly pool: readonly string[];
  readonly bands: readonly BandReport[];
  readonly candidates: number;
  readonly excluded: number;
  readonly noCleanRuns: readonly string[];
}

/** The pipeline's recorded selection, or null before it was made. */
export function keptSelection(result: unknown): Kept | null {
  const kept = (result as { selection?: Partial<Kept> } | null)?.selection;
  return kept && Array.isArray(kept.pool) && Array.isArray(kept.bands) ? (kept as Kept) : null;
}

/** Bands of finished attempts under today's rules: for a probe that no pipeline has selected from. */
function assessedNow(
  attempts: readonly AttemptRow[],
  selection: PipelineConfig['selection'] | null,
  warnings: string[],
): Kept | null {
  const finished = attempts.filter((attempt) => attempt.state !== 'pending');
  if (finished.length === 0) return null;
  try {
    const chosen = selectFromAttempts(finished, {
      ...SELECTION_DEFAULTS,
      ...(selection && {
        minCleanRuns: selection.minCleanRuns,
        retainBands: selection.retainBands.map((band) => bandNamed(band, 'selection.retainBands')),
      }),
    });
    return {
      pool: chosen.selected,
      bands: bandHistogram(chosen),
      candidates: chosen.assessed.length,
      excluded: chosen.summary.excludedPresent,
      noCleanRuns: chosen.noCleanRuns.map(({ uid }) => uid),
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    warnings.push(`The probe has no bands yet: ${error.message}`);
    return null;
  }
}

export function probeReport(
  campaign: Campaign<AttemptsConfig>,
  kept: Kept | null,
  selection: PipelineConfig['selection'] | null,
  warnings: string[],
): ProbeReport {
  const { row, config, attempts, counts } = campaign;
  const expected = expectedKeys(row.id, config.tasks, config.repeat);
  const clean = new Set(
    attempts.filter((attempt) => attempt.state === 'clean').map((attempt) => attempt.key),
  );
  const coverage = coverageOf(
    counts,
    expected.length,
    expected.filter((key) => !clean.has(key)),
    config.exhaustedAsFailed,
  );
  // Until every attempt is clean or exhausted the bands would only show which tasks were tried first.
  const chosen = kept ?? (coverage.pending === 0 ? assessedNow(attempts, selection, warnings) : null);
  const notRetained =
    chosen?.bands.filter((band) => !band.retained).reduce((sum, band) => sum + band.tasks, 0) ?? 0;
  const rewards = attempts.filter((attempt) => attempt.reward !== null).map((attempt) => attempt.reward ?? 0);
  const left = chosen ? chosen.candidates - notRetained - chosen.pool.length : 0;
  return {
    id: row.id,
    attemptsPerTask: config.repeat,
    candidates: config.tasks.length,
    bands: chosen?.bands ?? [],
    coverage,
    meanReward:
      coverage.pending === 0 && rewards.length > 0
        ? rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length
        : null,
    selected: chosen?.pool.length ?? 0,
    trainTasks: chosen?.pool.length ?? 0,
    testTasks: 0,
    leftOut: {
      difficulty_not_retained: notRetained,
      excluded: chosen?.excluded ?? 0,
      no_clean_runs: chosen?.noCleanRuns.length ?? 0,
      insufficient_clean_runs: Math.max(0, left),
    },
    wallSeconds: secondsBetween(row.createdAt, row.endedAt),
  };
}
