/** Folders of recorded checkpoints, and the one that a run starts from. */
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';

/** Throws `Fault('trainer', code: 'no_checkpoint')`, naming those that exist. */
export async function checkpointPath(
  ledger: Pick<Ledger, 'checkpoints'>,
  run: string,
  step: number | 'latest',
): Promise<string> {
  const rows = await ledger.checkpoints(run);
  const row = step === 'latest' ? rows[0] : rows.find((candidate) => candidate.step === step);
  if (row) return row.path;
  const known = rows.map((candidate) => candidate.step).join(', ') || 'none';
  throw new Fault('trainer', `${run}: no checkpoint of step ${step}; recorded steps: ${known}`, {
    code: 'no_checkpoint',
    retry: false,
  });
}

/** Folder of the checkpoint that a run starts from; undefined: the trainer's base. */
export async function startFolder(
  ledger: Pick<Ledger, 'checkpoints'>,
  { from }: Pick<TrainConfig, 'from'>,
): Promise<string | undefined> {
  return from === 'base' ? undefined : checkpointPath(ledger, from.run, from.step);
}
