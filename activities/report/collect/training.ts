/** A training run: its steps with every metric, and its line of weights. */
import type { TrainConfig } from '../../../core/campaign.js';
import type { CheckpointRow, OperationRow, RestoreRow, StepRow } from '../../../core/ledger.js';
import type { IntegrityReport, TrainingReport } from '../../../core/report-data.js';
import { secondsBetween } from '../format.js';
import { stepValues } from '../step-values.js';
import { type Campaign, causeOf, coverageOf } from './source.js';

/** Everything that the ledger keeps of a run beside its attempts. */
export interface RunRows {
  readonly steps: readonly StepRow[];
  readonly operations: readonly OperationRow[];
  readonly checkpoints: readonly CheckpointRow[];
  readonly restores: readonly RestoreRow[];
}

export function trainingReport(
  campaign: Campaign<TrainConfig>,
  { steps, operations, checkpoints }: RunRows,
): TrainingReport {
  const { row, config, counts, attempts } = campaign;
  const missing = attempts.filter((attempt) => attempt.state !== 'clean').map((attempt) => attempt.key);
  return {
    id: row.id,
    state: row.state,
    cause: causeOf(row),
    plannedSteps: config.steps,
    poolTasks: config.tasks.length,
    groups: config.shape.groups,
    groupSize: config.shape.groupSize,
    steps: [...steps]
      .sort((a, b) => a.step - b.step)
      .map((step) => ({
        step: step.step,
        state: step.state,
        cause: step.cause,
        baseDigest: step.baseDigest,
        weightDigest: step.weightDigest,
        metrics: stepValues(step, operations),
      })),
    coverage: coverageOf(counts, counts.planned, missing),
    checkpoints: checkpoints.length,
    wallSeconds: secondsBetween(row.createdAt, row.endedAt),
  };
}

/** Weights in order, the base first; a skipped update leaves no link. */
export function lineageOf({
  steps,
  operations,
}: RunRows): Pick<IntegrityReport, 'lineage' | 'updatesApplied' | 'updatesSkipped'> {
  const done = operations.filter((operation) => operation.state === 'done');
  const skipped = done.filter((operation) => operation.report?.skipped);
  const ordered = [...steps].sort((a, b) => a.step - b.step);
  const base =
    ordered[0]?.baseDigest ?? done.find((operation) => operation.step === ordered[0]?.step)?.baseDigest;
  const lineage = base ? [{ step: 0, digest: base }] : [];
  for (const { step, weightDigest } of ordered) {
    if (weightDigest !== null && weightDigest !== lineage.at(-1)?.digest)
      lineage.push({ step, digest: weightDigest });
  }
  return { lineage, updatesApplied: done.length - skipped.length, updatesSkipped: skipped.length };
}
