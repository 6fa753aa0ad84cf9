/** One evaluation and the comparison of two, by the statistics of `core/metrics`. */
import type { AttemptsConfig } from '../../../core/campaign.js';
import { UsageError } from '../../../core/faults.js';
import { compareEvaluations } from '../../../core/metrics/compare.js';
import { episodeTime, type ToolUse } from '../../../core/metrics/conduct.js';
import { expectedKeys } from '../../../core/metrics/coverage.js';
import { evaluationMetrics } from '../../../core/metrics/evaluation.js';
import type { TerminationCounts } from '../../../core/metrics/usage.js';
import type { Termination } from '../../../core/outcome.js';
import { type PriceTable, priceOf } from '../../../core/prices.js';
import type { EvaluationReport, PairedReport, PriceReport } from '../../../core/report-data.js';
import { importedModel } from '../../../core/results/imported.js';
import { secondsBetween } from '../format.js';
import { modelName } from './config.js';
import { type Campaign, coverageOf } from './source.js';

/** The price of a model, or null without a table. Throws `UsageError` for a table that lacks it. */
export function priceReport(prices: PriceTable | null | undefined, model: string): PriceReport | null {
  return prices ? { model, ...priceOf(prices, model) } : null;
}

export interface EvaluationParts {
  /** Null where nothing was trained. */
  readonly trainedTemplates: ReadonlySet<string> | null;
  readonly price: PriceReport | null;
  /** Null where the ledger was not asked. */
  readonly tools: ToolUse | null;
  readonly allowIncomplete: boolean;
}

export function evaluationReport(
  campaign: Campaign<AttemptsConfig>,
  label: string,
  { trainedTemplates, price, tools, allowIncomplete }: EvaluationParts,
): EvaluationReport {
  const { row, config, attempts, counts } = campaign;
  const expected = expectedKeys(row.id, config.tasks, config.repeat);
  const metrics = evaluationMetrics({
    attempts,
    expected,
    k: config.repeat,
    exhaustedAsFailed: config.exhaustedAsFailed,
    allowIncomplete,
    trainedTemplates,
    prices: price && { policy: price },
  });
  const versions = new Set(attempts.map((attempt) => attempt.weightVersion).filter((each) => each !== null));
  const [version] = versions;
  const imported = importedModel(config);
  return {
    id: row.id,
    label,
    state: row.state,
    weightVersion: versions.size === 1 && version !== undefined ? version : null,
    model: modelName(config.model),
    k: config.repeat,
    coverage: {
      ...coverageOf(
        counts,
        expected.length,
        [...metrics.coverage.missing, ...metrics.coverage.systemError],
        config.exhaustedAsFailed,
      ),
      complete: metrics.coverage.complete,
    },
    scores: metrics.scores,
    tasks: metrics.tasks.map((task) => ({
      ...task,
      templateTrained: trainedTemplates?.has(task.template) ?? null,
    })),
    terminations: endings(metrics.terminations),
    usage: metrics.usage,
    // Rows without token counts have no cost; nothing was free.
    cost: attempts.some(({ state, usage }) => state === 'clean' && usage === null) ? null : metrics.cost,
    price,
    // The time of the import says nothing of the evaluation.
    wallSeconds: imported ? null : secondsBetween(row.createdAt, row.endedAt),
    tools,
    time: episodeTime(attempts.map(({ wallMs }) => ({ seconds: wallMs === null ? null : wallMs / 1000 }))),
    imported: imported?.files ?? null,
    notComparable: config.notComparable ?? [],
  };
}

function endings(
  counts: Readonly<Partial<Record<Termination, TerminationCounts>>>,
): Partial<Record<Termination, number>> {
  return Object.fromEntries(Object.entries(counts).map(([name, { attempts }]) => [name, attempts]));
}

/** Null unless both have scores. Other tasks on one side are a warning, never a made-up difference. */
export function pairedReport(
  before: EvaluationReport | null,
  after: EvaluationReport | null,
  warnings: string[],
): PairedReport | null {
  if (!before?.scores || !after?.scores) return null;
  try {
    return compareEvaluations(before.tasks, after.tasks, [before.k, after.k]);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    warnings.push(`${before.id} and ${after.id} cannot be compared: ${error.message}`);
    return null;
  }
}
