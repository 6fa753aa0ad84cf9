/** Checkpoints for evaluations by schedule: the newest one that verifies, and weights that are given back. */
import type { AttemptsConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';
import type { NightCheckpoint } from '../../core/nightly/schedule.js';
import type { Trainer } from '../../core/trainer.js';
import { campaignRow } from '../campaign/deps.js';
import { verifyCheckpoint } from './checkpoint-files.js';

/** Throws `Fault('trainer', code: 'no_checkpoint')` where none verifies, with what is wrong with the newest. */
export async function newestVerified(
  ledger: Pick<Ledger, 'checkpoints'>,
  run: string,
): Promise<NightCheckpoint> {
  const passedOver: number[] = [];
  let newest: string | undefined;
  for (const { step, path, manifest, pruned } of await ledger.checkpoints(run)) {
    if (pruned) continue;
    const { problems } = await verifyCheckpoint(path, manifest);
    if (problems.length === 0) return { run, step, weightDigest: manifest.weightDigest, passedOver };
    newest ??= problems[0];
    passedOver.push(step);
  }
  const why = newest === undefined ? 'it has none' : `${passedOver.length} do not verify: ${newest}`;
  throw new Fault('trainer', `${run}: no checkpoint that verifies; ${why}`, {
    code: 'no_checkpoint',
    retry: false,
  });
}

/**
 * Gives back the weights of a campaign's checkpoint. The trainer keeps what its training session has published, and
 * what somebody else still asks for is served again when it is missed: nobody's samples change.
 */
export async function releaseServed(
  { ledger, trainer }: { readonly ledger: Ledger; readonly trainer: Trainer },
  campaign: string,
  leases: number,
  signal: AbortSignal,
): Promise<void> {
  const { model } = (await campaignRow(ledger, campaign)).config as AttemptsConfig;
  if (model.kind !== 'trainer' || model.checkpoint === 'base') return;
  const { run, step } = model.checkpoint;
  const row = (await ledger.checkpoints(run)).find((each) => each.step === step);
  if (!row) return;
  for (let lease = 0; lease < leases; lease++) await trainer.release(row.manifest.weightDigest, signal);
}
