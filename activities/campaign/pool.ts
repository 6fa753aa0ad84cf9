/** From a probe's rows to the fixed pool of a training run. */
import type { PipelineConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import type { BandReport } from '../../core/report-data.js';
import { bandNamed } from '../../core/selection/bands.js';
import { bandHistogram } from '../../core/selection/histogram.js';
import { SELECTION_DEFAULTS } from '../../core/selection/options.js';
import { selectFromAttempts } from '../../core/selection/select.js';
import type { TaskRef } from '../../core/suite.js';
import type { CampaignDeps } from './deps.js';

export interface PoolResult {
  /** Ids kept, sorted. */
  readonly pool: readonly string[];
  /** Ids kept for evaluations between steps, sorted, never trained on; none without `validateEvery`. */
  readonly heldOut: readonly string[];
  readonly bands: readonly BandReport[];
  readonly candidates: number;
  /** Benchmark tasks, and candidates made from a benchmark's template, that were left out. */
  readonly excluded: number;
  /** Tasks that never ran cleanly. */
  readonly noCleanRuns: readonly string[];
}

/** Throws `UsageError` when what is kept does not fill one batch; the histogram is in the message. */
export async function choosePool(
  { ledger, suite }: CampaignDeps,
  probe: string,
  config: PipelineConfig,
): Promise<PoolResult> {
  const excluded = benchmarkExclusions(await (await suite(config.suite)).tasks());
  const attempts = await ledger.attempts(probe);
  const selection = selectFromAttempts(
    attempts,
    {
      ...SELECTION_DEFAULTS,
      mode: config.train.validateEvery > 0 ? 'split' : 'selection',
      minCleanRuns: config.selection.minCleanRuns,
      retainBands: config.selection.retainBands.map((band) => bandNamed(band, 'selection.retainBands')),
      seed: config.seed,
    },
    excluded,
  );
  const result: PoolResult = {
    pool: selection.train ?? selection.selected,
    heldOut: selection.test ?? [],
    bands: bandHistogram(selection),
    candidates: selection.assessed.length,
    excluded: selection.summary.excludedPresent,
    noCleanRuns: selection.noCleanRuns.map(({ uid }) => uid),
  };
  const { groups } = config.train.shape;
  if (result.pool.length >= groups) return result;
  throw new UsageError(
    `pool selected from ${probe}`,
    `at least ${groups} tasks, one batch`,
    `${result.pool.length} of ${result.candidates}; by band: ${result.bands.map(({ band, tasks }) => `${band} ${tasks}`).join(', ')}`,
    'Retain more bands, probe more tasks, or train with fewer groups.',
  );
}

/** The benchmark by id, and every task whose template is a benchmark's. */
export function benchmarkExclusions(refs: readonly TaskRef[]): ReadonlySet<string> {
  const templates = new Set(
    refs.filter(({ split }) => split === 'benchmark').map(({ templateDigest }) => templateDigest),
  );
  return new Set(
    refs
      .filter(({ split, templateDigest }) => split === 'benchmark' || templates.has(templateDigest))
      .map(({ id }) => id),
  );
}
