/**
 * Replay of a finished step: the state before it is restored, its batch is made again from the recorded episodes, its
 * recorded batch is applied again; weights, optimizer and every metric must come out as they are recorded.
 */
import { Fault } from '../../core/faults.js';
import type { AttemptRow, OperationRow, StepRow } from '../../core/ledger.js';
import type { UpdateReport } from '../../core/trainer.js';
import { digestOf } from '../artifacts/local.js';
import { assembleAgain } from '../campaign/batch.js';
import { endedGroups } from '../campaign/step-groups.js';
import { samplingMetrics } from '../campaign/step-metrics.js';
import { sendBatch } from './batch-request.js';
import { requireBatch } from './lost.js';
import { type ReplayDeps, type Restored, restoreBefore } from './replay-state.js';

export interface Difference {
  readonly what: string;
  readonly recorded: string;
  readonly replayed: string;
}

export interface StepReplay {
  readonly run: string;
  readonly step: number;
  readonly identical: boolean;
  /** The first is where the two ways part. */
  readonly differences: readonly Difference[];
  /** What was compared, in order. */
  readonly compared: readonly string[];
  /** Null when the state before the step could not be reached. */
  readonly restored: Omit<Restored, 'state' | 'mended'> | null;
  /** Batches that were gone and have been made again, in words. */
  readonly mended: readonly string[];
  readonly weightDigest: string | null;
}

/** Wall time is no result. */
type Reported = Exclude<keyof UpdateReport, 'op' | 'baseDigest' | 'batchDigest' | 'seconds'>;
const REPORTED: Readonly<Record<Reported, string>> = {
  weightDigest: 'weights',
  optimizerDigest: 'optimizer',
  skipped: 'update skipped',
  loss: 'loss',
  gradNorm: 'gradNorm',
  clipFraction: 'clipFraction',
  entropy: 'entropy',
  klToBase: 'klToBase',
  mismatchMean: 'mismatchMean',
  mismatchMax: 'mismatchMax',
  mismatchShare: 'mismatchShare',
  importanceMean: 'importanceMean',
  importanceCapped: 'importanceCapped',
  tokens: 'tokens',
};

/** `operation`: the step's own, done. Throws `Fault('artifacts')`, naming digest and path, for what cannot be read. */
export async function replayStep(
  deps: ReplayDeps,
  row: StepRow,
  operation: OperationRow,
  signal: AbortSignal,
): Promise<StepReplay> {
  const { run, step } = row;
  const comparison = new Comparison();
  await compareSampling(deps, row, operation, comparison);
  const restored = await stateBefore(deps, row, comparison, signal);
  const mended = [...(restored?.mended ?? [])];
  const ended = (weightDigest: string | null): StepReplay => ({
    run,
    step,
    identical: comparison.differences.length === 0,
    differences: comparison.differences,
    compared: comparison.compared,
    restored: restored && {
      from: restored.from,
      passedOver: restored.passedOver,
      reapplied: restored.reapplied,
    },
    mended,
    weightDigest,
  });
  if (!restored) return ended(null);
  const before = restored.state.weightDigest;
  comparison.add('weights before the step', operation.baseDigest, before);
  // On other weights the update would be refused.
  if (before !== operation.baseDigest) return ended(null);
  const own = await requireBatch(deps, operation);
  if (own !== undefined) mended.push(own);
  const report = await sendBatch(deps.artifacts, operation, (request) =>
    deps.trainer.update(request, signal),
  );
  for (const [name, what] of Object.entries(REPORTED) as [Reported, string][]) {
    if (operation.report?.[name] === undefined && report[name] === undefined) continue;
    comparison.add(what, operation.report?.[name], report[name]);
  }
  return ended(report.weightDigest);
}

/** The batch's bytes and the step's own figures, from the rows and artifacts of its episodes. */
async function compareSampling(
  { ledger, artifacts, config }: ReplayDeps,
  row: StepRow,
  operation: OperationRow,
  comparison: Comparison,
): Promise<void> {
  const { run, step } = row;
  const attempts: readonly AttemptRow[] = await ledger.attempts(run, { step });
  const { batchDigest } = operation;
  const { bytes } = await assembleAgain(artifacts, config, { run, step, batchDigest }, attempts);
  comparison.add('batch made from the episodes', batchDigest, digestOf(bytes));
  const metrics = samplingMetrics(config, endedGroups(config, attempts), attempts);
  for (const [name, value] of Object.entries(metrics)) {
    if (name in row.metrics) comparison.add(name, row.metrics[name], value);
  }
}

async function stateBefore(
  deps: ReplayDeps,
  { run, step, baseDigest }: StepRow,
  comparison: Comparison,
  signal: AbortSignal,
): Promise<Restored | null> {
  try {
    return await restoreBefore(deps, run, step, signal);
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'digest_mismatch')) throw error;
    comparison.add('state before the step', baseDigest, error.message);
    return null;
  }
}

class Comparison {
  readonly compared: string[] = [];
  readonly differences: Difference[] = [];

  add(what: string, recorded: unknown, replayed: unknown): void {
    this.compared.push(what);
    if (recorded === replayed) return;
    this.differences.push({
      what,
      recorded: String(recorded ?? 'none'),
      replayed: String(replayed ?? 'none'),
    });
  }
}
