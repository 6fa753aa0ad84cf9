/** Two evaluations from the ledger, read for `renderComparison`. */
import { UsageError } from '../../../core/faults.js';
import type { EvaluationReport } from '../../../core/report-data.js';
import type { ComparisonData } from '../comparison.js';
import { collectReport } from './collect.js';
import { pairedReport } from './evaluation.js';
import type { ReportSources } from './source.js';

/** Throws `UsageError` for a campaign that is unknown or no evaluation. Differing tasks are a warning in the data. */
export async function collectComparison(
  sources: ReportSources,
  beforeId: string,
  afterId: string,
): Promise<ComparisonData> {
  const read = async (id: string) => {
    const data = await collectReport(sources, id);
    const evaluation = data.run.kind === 'eval' ? data.after : null;
    if (!evaluation)
      throw new UsageError('compare', 'two evaluations, e.g. eval/demo-base', `"${id}" (${data.run.kind})`);
    return { data, evaluation };
  };
  const [from, to] = [await read(beforeId), await read(afterId)];
  const warnings = [...from.data.warnings, ...to.data.warnings];
  const before: EvaluationReport = { ...from.evaluation, label: 'before' };
  const after: EvaluationReport = { ...to.evaluation, label: 'after' };
  return {
    before,
    after,
    paired: pairedReport(before, after, warnings),
    run: { ...to.data.run, state: 'done', cause: null },
    prices: to.data.prices,
    warnings: [...new Set(warnings)],
  };
}
