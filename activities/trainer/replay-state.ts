/** The state of a run before one of its steps, restored in a trainer that no run samples from. */
import path from 'node:path';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { TrainerState } from '../../core/trainer.js';
import { campaignRow } from '../campaign/deps.js';
import { startFolder } from './checkpoint-paths.js';
import { bringTo, type LineageDeps } from './lineage.js';

export interface ReplayDeps extends Omit<LineageDeps, 'startOf' | 'startAgain' | 'mended'> {
  /** Of the run that is replayed. */
  readonly config: TrainConfig;
  /** Folder for a start state that has to be made again; the caller removes it. */
  readonly scratch: string;
}

export interface Restored {
  readonly state: TrainerState;
  /** Folder of the checkpoint that was opened; null: the trainer's base. */
  readonly from: string | null;
  /** Newer checkpoints that did not verify. */
  readonly passedOver: readonly { readonly path: string; readonly reason: string }[];
  /** Operations whose recorded batches were applied again. */
  readonly reapplied: readonly string[];
  /** Batches that were gone and have been made again, in words; only where that was asked for. */
  readonly mended: readonly string[];
}

/** Throws what `bringTo` throws; `digest_mismatch` when the recorded batches give other weights than recorded. */
export async function restoreBefore(
  deps: ReplayDeps,
  run: string,
  step: number,
  signal: AbortSignal,
): Promise<Restored> {
  const { trainer, ledger } = deps;
  const passedOver: { path: string; reason: string }[] = [];
  const reapplied: string[] = [];
  const mended: string[] = [];
  let from: string | null = null;
  const told: LineageDeps = {
    ...deps,
    // It is not the run's own trainer that is brought here: nothing of it belongs in the run's record.
    ledger: { ...ledger, noteRestore: async () => undefined },
    startOf: () => startFolder(ledger, deps.config),
    startAgain: () => startAgain(deps, signal),
    mended: (what) => mended.push(what),
    trainer: {
      ...trainer,
      async open(name, folder, inner) {
        try {
          const state = await trainer.open(name, folder, inner);
          from = folder ?? null;
          return state;
        } catch (error) {
          if (error instanceof Fault && error.code === 'bad_checkpoint' && folder !== undefined) {
            passedOver.push({ path: folder, reason: error.message });
          }
          throw error;
        }
      },
      async update(request, inner) {
        const report = await trainer.update(request, inner);
        reapplied.push(request.op);
        return report;
      },
    },
  };
  const state = await bringTo(told, run, step - 1, signal);
  return { state, from, passedOver, reapplied, mended };
}

/** Where a fork starts from: a checkpoint that is gone is made again from the record of its own run, in a folder apart. */
async function startAgain(deps: ReplayDeps, signal: AbortSignal): Promise<string | undefined> {
  const { ledger, trainer, config, scratch } = deps;
  if (config.from === 'base') return undefined;
  const { run, step } = config.from;
  const source = (await campaignRow(ledger, run)).config as TrainConfig;
  await restoreBefore({ ...deps, config: source }, run, step + 1, signal);
  return (await trainer.checkpoint(run, path.join(scratch, run.replace('/', '-')), signal)).path;
}
