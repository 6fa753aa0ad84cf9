/** A set of result rows as the evaluation that reports and comparisons show. */
import { costReport, NO_USAGE, policyUsage } from '../metrics/usage.js';
import type { Usage } from '../outcome.js';
import type { CoverageReport, EvaluationReport, PriceReport } from '../report-data.js';
import type { ImportedFile } from './imported.js';
import type { ResultsSummary } from './result-set.js';

export interface ResultsNames {
  readonly id: string;
  readonly label: string;
  readonly model: string;
  readonly files: readonly ImportedFile[];
  readonly systemErrorsAsFailed: boolean;
}

/** `price` null: tokens only. A cost needs token counts in every expected row; without them it is null. */
export function resultsEvaluation(
  summary: ResultsSummary,
  names: ResultsNames,
  price: PriceReport | null,
): EvaluationReport {
  const [all] = summary.scores ?? [];
  const usage = usageOf(summary);
  return {
    id: names.id,
    label: names.label,
    state: 'done',
    weightVersion: null,
    model: names.model,
    k: summary.k,
    coverage: coverageOf(summary, names.systemErrorsAsFailed),
    scores: summary.scores,
    tasks: summary.tasks.map((task) => ({ ...task, templateTrained: null })),
    terminations: Object.fromEntries(
      Object.entries(summary.endings).map(([word, { attempts }]) => [word, attempts]),
    ),
    usage,
    cost: all && price && summary.tokens ? costReport(usage, { policy: price }, all) : null,
    price,
    wallSeconds: null,
    tools: summary.tools,
    time: summary.time,
    imported: names.files,
  };
}

export function usageOf({ tokens }: Pick<ResultsSummary, 'tokens'>): Usage {
  return tokens === null ? NO_USAGE : policyUsage(tokens);
}

function coverageOf({ coverage, placed }: ResultsSummary, exhaustedAsFailed: boolean): CoverageReport {
  const lost = placed.filter(({ outcome }) => outcome === 'system_error').length;
  const exhausted = exhaustedAsFailed ? lost : coverage.systemError.length;
  const clean = coverage.clean - (exhaustedAsFailed ? lost : 0);
  return {
    planned: coverage.expected,
    clean,
    passed: placed.filter(({ outcome }) => outcome === 'passed').length,
    exhausted,
    pending: coverage.expected - clean - exhausted,
    faults: {},
    complete: coverage.complete,
    exhaustedAsFailed,
    missing: [...coverage.missing, ...coverage.systemError, ...coverage.duplicate].slice(0, 20),
  };
}
