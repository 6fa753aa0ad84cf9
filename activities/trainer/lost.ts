/**
 * What a restore needs and finds gone or damaged, made again from what else is recorded: the batch of an update from
 * its episodes, the start of a fork by the run that it was forked from. It is used only where its digest is the
 * recorded one, so nothing can come of it but what was there before.
 */
import path from 'node:path';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { Ledger, OperationRow } from '../../core/ledger.js';
import { digestOf } from '../artifacts/local.js';
import { assembleAgain } from '../campaign/batch.js';
import { campaignRow } from '../campaign/deps.js';

export interface BatchDeps {
  readonly ledger: Ledger;
  readonly artifacts: ArtifactStore;
  /** True: a batch that is gone is refused, as it is evidence. Else it is made again. */
  readonly refuseLost?: boolean;
}

/**
 * Sees to it that the batch of a recorded update is whole. Returns what was wrong where it was made again, else
 * undefined. Throws `Fault('artifacts', code: 'corrupt' | 'missing')` with digest and path where it is refused or
 * cannot be made again.
 */
export async function requireBatch(
  { ledger, artifacts, refuseLost = false }: BatchDeps,
  operation: Pick<OperationRow, 'run' | 'step' | 'batchDigest'>,
): Promise<string | undefined> {
  const { run, step, batchDigest } = operation;
  const state = await artifacts.verify(batchDigest);
  if (state === 'ok') return undefined;
  const lost = `batch ${batchDigest} of step ${step} of ${run} is ${state}: ${artifacts.path(batchDigest)}`;
  const refusal = (message: string, cause?: unknown) =>
    new Fault('artifacts', message, { code: state, retry: false, ...(cause === undefined ? {} : { cause }) });
  if (refuseLost) throw refusal(lost);
  const config = (await campaignRow(ledger, run)).config as TrainConfig;
  const rows = await ledger.attempts(run, { step });
  const { bytes } = await assembleAgain(artifacts, config, operation, rows).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.retry) throw error;
    throw refusal(`${lost}; and it cannot be made again: ${error.message}`, error);
  });
  const found = digestOf(bytes);
  if (found !== batchDigest) {
    throw refusal(`${lost}; and its recorded episodes give another one, ${found}`);
  }
  await artifacts.put(bytes);
  return `${lost}; made again from its recorded episodes`;
}

/** True for a batch that was refused, and that nobody has tried to make again. */
export function mayBeMended({ message }: Fault): boolean {
  return /^batch sha256:\S+ of step \d+ of \S+ is (?:corrupt|missing): [^;]*$/.test(message);
}

/** Codes of a checkpoint that cannot be opened, now or ever. */
const GONE: ReadonlySet<string | undefined> = new Set(['bad_checkpoint', 'pruned', 'no_checkpoint']);

export function isGone(error: unknown): error is Fault {
  return error instanceof Fault && GONE.has(error.code);
}

/** Folder in which a run's checkpoints lie, from one that it has or had. Undefined where it never had any. */
export async function checkpointFolder(
  ledger: Pick<Ledger, 'checkpoints'>,
  run: string,
): Promise<string | undefined> {
  const [row] = await ledger.checkpoints(run);
  return row && path.dirname(row.path);
}
