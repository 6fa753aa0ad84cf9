/**
 * Which checkpoints stay: the newest few, every n-th, the configured last step, and whatever an unfinished campaign
 * uses. Nothing is removed unless one that stays verifies. The ledger is told before a file is touched: who dies in
 * between leaves a folder that the next pruning removes.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Retention, TrainConfig } from '../../core/campaign.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';
import { TRAINING } from '../../temporal.config.js';
import { verifyCheckpoint } from './checkpoint-files.js';

export interface RetentionDeps {
  readonly ledger: Ledger;
  /** All checkpoints of this trainer lie below it; nothing outside is ever removed. */
  readonly folder: string;
}

/** Steps that the rule does not keep; `steps` in any order, `lastStep` is a pipeline's to evaluate. Pure. */
export function superfluous(steps: readonly number[], keep: Retention, lastStep: number): number[] {
  if (keep.last === 0) return [];
  const newest = new Set(steps.toSorted((a, b) => b - a).slice(0, keep.last));
  return steps
    .filter((step) => !newest.has(step) && step !== lastStep && !(keep.every > 0 && step % keep.every === 0))
    .toSorted((a, b) => a - b);
}

/** Removes what the run's rule does not keep; returns the steps that it removed or found removed in part. */
export async function pruneOld(
  { ledger, folder }: RetentionDeps,
  run: string,
  config: Pick<TrainConfig, 'keep' | 'steps'>,
): Promise<readonly number[]> {
  const keep = config.keep ?? { last: TRAINING.keepLast, every: TRAINING.keepEvery };
  const rows = (await ledger.checkpoints(run)).filter(({ pruned }) => !pruned);
  const steps = superfluous(
    rows.map(({ step }) => step),
    keep,
    config.steps,
  );
  const rest = rows.filter(({ step }) => !steps.includes(step));
  const removable = steps.length > 0 && (await oneVerifies(rest)) ? steps : [];
  const marked = await ledger.pruneCheckpoints(run, removable, ruleOf(keep));
  // Two steps may share a folder: one that was left out has the weights of the step before.
  const gone = new Set(marked.map(({ step }) => step));
  const used = new Set(rows.filter(({ step }) => !gone.has(step)).map((row) => row.path));
  for (const row of marked) {
    if (isBelow(folder, row.path) && !used.has(row.path))
      await rm(row.path, { recursive: true, force: true });
  }
  return marked.map(({ step }) => step);
}

function ruleOf({ last, every }: Retention): string {
  return every > 0 ? `keeps the last ${last} and steps divisible by ${every}` : `keeps the last ${last}`;
}

/** The newest first: it has just been written, so one look is nearly always enough. */
async function oneVerifies(rows: readonly CheckpointRow[]): Promise<boolean> {
  for (const { path: dir, manifest } of rows) {
    if ((await verifyCheckpoint(dir, manifest)).problems.length === 0) return true;
  }
  return false;
}

function isBelow(folder: string, dir: string): boolean {
  const way = path.relative(path.resolve(folder), path.resolve(dir));
  return way !== '' && !way.startsWith('..') && !path.isAbsolute(way);
}
