/**
 * Bringing a trainer to the state that the ledger says it must be in.
 *
 * The ledger holds one lineage: base → step 1 → step 2 ... A trainer that was lost with its weights opens the newest
 * verified checkpoint and applies the recorded batches of later steps again; the digests must come out the same.
 * No episode is generated again.
 */
import type { Digest } from '../../core/artifacts.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { Ledger, OperationRow } from '../../core/ledger.js';
import type { Trainer, TrainerState } from '../../core/trainer.js';
import { campaignRow } from '../campaign/deps.js';
import { send } from './attach.js';
import { sendBatch } from './batch-request.js';
import { type BatchDeps, checkpointFolder, isGone, requireBatch } from './lost.js';

export interface LineageDeps extends BatchDeps {
  readonly trainer: Trainer;
  /** Folder of the checkpoint that the run starts from; undefined: the trainer's base. */
  readonly startOf: (run: string) => Promise<string | undefined>;
  /** Makes that checkpoint again where it is gone. Absent: its source is brought there, and saves it again. */
  readonly startAgain?: (run: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Told of each batch that was gone and has been made again. */
  readonly mended?: (what: string) => void;
}

/** Weights after step `step` of `run`, or undefined before any update. Throws `Fault('ledger')` for a gap. */
export async function digestAfter(ledger: Ledger, run: string, step: number): Promise<Digest | undefined> {
  if (step === 0) return undefined;
  const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
  if (row?.weightDigest) return row.weightDigest;
  throw new Fault('ledger', `${run}: no weight digest is recorded for step ${step}`, {
    code: 'lineage_gap',
    retry: false,
  });
}

/**
 * Makes the trainer hold the weights after `step` (0: the start of the run). Does nothing when it does already.
 * Throws `Fault('trainer', code: 'digest_mismatch', retry: false)` when re-applied batches give other weights.
 */
export async function bringTo(
  deps: LineageDeps,
  run: string,
  step: number,
  signal: AbortSignal,
): Promise<TrainerState> {
  const { ledger, trainer } = deps;
  const wanted = await digestAfter(ledger, run, step);
  const state = await trainer.state(signal);
  const operations = (await ledger.operations(run)).filter((row) => row.state === 'done' && row.step <= step);
  if (state.run === run && holds(state, wanted, operations)) return state;

  const { state: opened, from } = await openNewest(deps, run, step, signal);
  let weights = opened.weightDigest;
  for (const operation of operations) {
    if (opened.appliedOps.includes(operation.op)) continue;
    if (weights !== operation.baseDigest)
      throw mismatch(run, operation.step - 1, operation.baseDigest, weights);
    const mended = await requireBatch(deps, operation);
    if (mended !== undefined) {
      deps.mended?.(mended);
      const passedOver = [{ step: operation.step, reason: mended }];
      await ledger.noteRestore({ run, wanted: operation.step, opened: from, passedOver });
    }
    weights = await applyAgain(deps, run, operation, signal);
  }
  if (wanted !== undefined && weights !== wanted) throw mismatch(run, step, wanted, weights);
  const current = await trainer.state(signal);
  if (current.run === run && current.weightDigest === weights) return current;
  throw raced(`${run}, step ${step}: another session took the trainer's place while it was brought there`);
}

/** Another activity (of a zombie, or of another run) has changed the session meanwhile: trying again can help. */
export function raced(message: string, cause?: unknown): Fault {
  return new Fault('trainer', message, {
    code: 'raced',
    retry: true,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** `stale_base` although the trainer held that base a moment ago. */
export function asRaced(error: unknown): unknown {
  return error instanceof Fault && error.code === 'stale_base' ? raced(error.message, error) : error;
}

function holds(
  state: TrainerState,
  wanted: Digest | undefined,
  operations: readonly OperationRow[],
): boolean {
  if (state.appliedOps.length !== operations.length) return false;
  return wanted === undefined || state.weightDigest === wanted;
}

/**
 * Opens the newest checkpoint at or before `step` that the trainer verifies. A damaged one is passed over, and the
 * ledger says so with the reason.
 */
async function openNewest(
  deps: LineageDeps,
  run: string,
  step: number,
  signal: AbortSignal,
): Promise<{ readonly state: TrainerState; readonly from: number | null }> {
  const { ledger, trainer } = deps;
  const candidates = (await ledger.checkpoints(run)).filter((row) => row.step <= step && !row.pruned);
  const passedOver: { step: number; reason: string }[] = [];
  for (const { path, step: saved } of candidates) {
    try {
      const state = await trainer.open(run, path, signal);
      await ledger.noteRestore({ run, wanted: step, opened: saved, passedOver });
      return { state, from: saved };
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'bad_checkpoint')) throw error;
      passedOver.push({ step: saved, reason: error.message });
    }
  }
  const state = await openStart(deps, run, signal, ({ message }) => {
    passedOver.push({ step: 0, reason: `${message}; made again from the record of its run` });
  });
  if (step > 0 || passedOver.length > 0)
    await ledger.noteRestore({ run, wanted: step, opened: null, passedOver });
  return { state, from: null };
}

/** The base, or the checkpoint of another run; one that is gone is made again, and `gone` is told why. */
async function openStart(
  deps: LineageDeps,
  run: string,
  signal: AbortSignal,
  gone: (why: Fault) => void,
): Promise<TrainerState> {
  const { trainer, startOf, startAgain = sourceAgain(deps) } = deps;
  try {
    return await trainer.open(run, await startOf(run), signal);
  } catch (error) {
    if (!isGone(error)) throw error;
    const folder = await startAgain(run, signal);
    if (folder === undefined) throw error;
    gone(error);
    return trainer.open(run, folder, signal);
  }
}

/**
 * Brings the trainer to where the run's source was when it was forked, by the source's own record, and saves that
 * state in the source's folder once more. Undefined for a run that starts from the base.
 */
function sourceAgain(deps: LineageDeps): NonNullable<LineageDeps['startAgain']> {
  const { ledger, trainer } = deps;
  return async (run, signal) => {
    const { from } = (await campaignRow(ledger, run)).config as TrainConfig;
    if (from === 'base') return undefined;
    const folder = await checkpointFolder(ledger, from.run);
    if (folder === undefined) return undefined;
    // The source itself was not restored: nothing of this belongs in its record.
    const quiet = { ...deps, ledger: { ...ledger, noteRestore: async () => undefined } };
    await bringTo(quiet, from.run, from.step, signal);
    const { path, manifest } = await trainer.checkpoint(from.run, folder, signal);
    await ledger.putCheckpoint({ run: from.run, step: from.step, path, manifest });
    return path;
  };
}

async function applyAgain(
  { artifacts, trainer }: LineageDeps,
  run: string,
  operation: OperationRow,
  signal: AbortSignal,
): Promise<Digest> {
  const report = await sendBatch(artifacts, { ...operation, run }, (request) =>
    send(trainer, request, signal).catch((error: unknown) => {
      throw asRaced(error);
    }),
  );
  const recorded = operation.report?.weightDigest;
  if (recorded !== undefined && report.weightDigest !== recorded) {
    throw mismatch(run, operation.step, recorded, report.weightDigest);
  }
  return report.weightDigest;
}

function mismatch(run: string, step: number, wanted: Digest, found: Digest | undefined): Fault {
  return new Fault(
    'trainer',
    `${run}, step ${step}: expected weights ${wanted}, found ${found ?? 'none'} after applying the recorded batches again`,
    { code: 'digest_mismatch', retry: false },
  );
}
