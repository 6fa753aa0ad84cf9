/** A campaign samples from one base: trainers come and go, and the files of the base may be made again meanwhile. */
import type { Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';

/**
 * Notes the weights on the campaign when it first asks. Throws `Fault('trainer', code: 'wrong_weights')` when they are
 * others than then: attempts of two models would be one score. Checkpoints need no such note, their manifests say it.
 */
export async function refuseOtherBase(
  ledger: Pick<Ledger, 'campaign' | 'noteOnCampaign'>,
  campaign: string,
  weightVersion: Digest,
): Promise<void> {
  const { base } = ((await ledger.campaign(campaign))?.result ?? {}) as { base?: Digest };
  if (base === weightVersion) return;
  if (base === undefined) return ledger.noteOnCampaign(campaign, { base: weightVersion });
  throw new Fault(
    'trainer',
    `${campaign}: it began with the base ${base}, the trainer's base is ${weightVersion} now: go back to that one, ` +
      'or start a campaign under another name',
    { code: 'wrong_weights', retry: false },
  );
}
