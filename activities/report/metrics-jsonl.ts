/** `metrics.jsonl` of a training run: one line a finished step, made anew from the ledger's rows each time. */
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault } from '../../core/faults.js';
import type { Ledger, OperationRow, StepRow } from '../../core/ledger.js';
import { STEP_METRICS, type StepMetric } from '../../core/step-metrics.js';
import { stepValues } from './step-values.js';

/** A step counts as recorded once nothing of it can change any more. */
const FINAL: readonly StepRow['state'][] = ['done', 'skipped', 'failed'];

/**
 * JSON Lines: `run`, `step`, `state`, digests and cause, then every metric of `core/step-metrics.ts` in its order
 * (null where it was not measured; the trainer's report fills in what the row lacks), then metrics that the table does not know. Ends in a line feed, or is empty.
 */
export function metricsJsonl(steps: readonly StepRow[], operations: readonly OperationRow[] = []): string {
  const known = Object.keys(STEP_METRICS) as StepMetric[];
  return [...steps]
    .filter((step) => FINAL.includes(step.state))
    .sort((a, b) => a.step - b.step)
    .map((row) => {
      const { run, step, state, cause, baseDigest, weightDigest, batchDigest } = row;
      const metrics = stepValues(row, operations);
      const ordered = Object.fromEntries(known.map((name) => [name, metrics[name] ?? null]));
      return `${JSON.stringify({ run, step, state, cause, baseDigest, weightDigest, batchDigest, ...ordered, ...metrics })}\n`;
    })
    .join('');
}

/** Path of a campaign's file: `train/run-1` is a folder of its own under `reports`. */
export function reportPath(reports: string, campaign: string, file: string): string {
  return join(reports, ...campaign.split('/'), file);
}

/** Writes `<reports>/<run>/metrics.jsonl` and returns its path. Throws `Fault('artifacts')`, naming the path. */
export async function writeMetricsFile(ledger: Ledger, run: string, reports: string): Promise<string> {
  const path = reportPath(reports, run, 'metrics.jsonl');
  await replaceFile(path, metricsJsonl(await ledger.steps(run), await ledger.operations(run)));
  return path;
}

/** Written to a temporary file, synced and renamed: a reader finds the old file or the new one, never half of one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    throw new Fault('artifacts', `${path}: cannot be written (${(error as Error).message})`, {
      cause: error,
    });
  }
}
