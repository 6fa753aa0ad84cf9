/** Everything measured in a step: what its row says, and the trainer's own report of its update. */
import type { OperationRow, StepRow } from '../../core/ledger.js';

export type StepValues = Readonly<Record<string, number | boolean | null>>;

/** Values of the row win; the report fills in what the row lacks, under the names of `core/step-metrics.ts`. */
export function stepValues(step: StepRow, operations: readonly OperationRow[]): StepValues {
  const report = operations.find((each) => each.step === step.step && each.report !== null)?.report;
  const own = Object.fromEntries(Object.entries(step.metrics).filter(([, value]) => value !== null));
  if (!report) return own;
  const { loss, gradNorm, clipFraction, entropy, klToBase, mismatchMean, mismatchMax, mismatchShare } =
    report;
  const { tokens, skipped, importanceMean, importanceCapped } = report;
  return {
    ...{
      loss,
      gradNorm,
      clipFraction,
      entropy,
      klToBase,
      mismatchMean,
      mismatchMax,
      mismatchShare,
      tokens,
      skipped,
      ...(importanceMean === undefined ? {} : { importanceMean }),
      ...(importanceCapped === undefined ? {} : { importanceCapped }),
    },
    ...own,
  };
}
