/**
 * Bringing a trainer to the state that the ledger says it must be in.
 *
 * The ledger holds one lineage: base → step 1 → step 2 ... A trainer that was lost with its weights opens the newest
 * verified checkpoint and applies the recorded batches of later steps again; the digests must come out the same.
 * No episode is generated again.
 */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import type { Ledger, OperationRow } from '../../core/ledger.js';
import type { Trainer, TrainerState, UpdatePlan } from '../../core/trainer.js';

export interface LineageDeps {
  readonly ledger: Ledger;
  readonly artifacts: ArtifactStore;
  readonly trainer: Trainer;
  /** Folder of the checkpoint that the run starts from; undefined: the trainer's base. */
  readonly startOf: (run: string) => Promise<string | undefined>;
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

  let current = await openNewest(deps, run, step, signal);
  for (const operation of operations) {
    if (current.appliedOps.includes(operation.op)) continue;
    current = await applyAgain(deps, run, operation, signal);
  }
  if (wanted !== undefined && current.weightDigest !== wanted) {
    throw mismatch(run, step, wanted, current.weightDigest);
  }
  return current;
}

function holds(
  state: TrainerState,
  wanted: Digest | undefined,
  operations: readonly OperationRow[],
): boolean {
  if (state.appliedOps.length !== operations.length) return false;
  return wanted === undefined || state.weightDigest === wanted;
}

/** Opens the newest checkpoint at or before `step` that the trainer verifies; a damaged one is passed over and told. */
async function openNewest(
  { ledger, trainer, startOf }: LineageDeps,
  run: string,
  step: number,
  signal: AbortSignal,
): Promise<TrainerState> {
  const candidates = (await ledger.checkpoints(run)).filter((row) => row.step <= step);
  for (const { path, step: saved } of candidates) {
    try {
      return await trainer.open(run, path, signal);
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'bad_checkpoint')) throw error;
      process.stderr.write(`${run}: checkpoint of step ${saved} passed over: ${error.message}\n`);
    }
  }
  return trainer.open(run, await startOf(run), signal);
}

async function applyAgain(
  { artifacts, trainer }: LineageDeps,
  run: string,
  operation: OperationRow,
  signal: AbortSignal,
): Promise<TrainerState> {
  const state = await artifacts.verify(operation.batchDigest);
  if (state !== 'ok') {
    throw new Fault(
      'artifacts',
      `batch ${operation.batchDigest} of step ${operation.step} of ${run} is ${state}: ${artifacts.path(operation.batchDigest)}`,
      {
        code: state,
        retry: false,
      },
    );
  }
  const report = await trainer.update(
    {
      run,
      op: operation.op,
      baseDigest: operation.baseDigest,
      batchDigest: operation.batchDigest,
      batchPath: artifacts.path(operation.batchDigest),
      plan: operation.plan as UpdatePlan,
    },
    signal,
  );
  const recorded = operation.report?.weightDigest;
  if (recorded !== undefined && report.weightDigest !== recorded) {
    throw mismatch(run, operation.step, recorded, report.weightDigest);
  }
  return trainer.state(signal);
}

function mismatch(run: string, step: number, wanted: Digest, found: Digest | undefined): Fault {
  return new Fault(
    'trainer',
    `${run}, step ${step}: expected weights ${wanted}, found ${found ?? 'none'} after applying the recorded batches again`,
    { code: 'digest_mismatch', retry: false },
  );
}
