/** What a campaign is claimed with, from its configuration: one place, so that a name means the same everywhere. */
import type { CampaignConfig } from './campaign.js';
import { fingerprint } from './fingerprint.js';
import type { Ledger } from './ledger.js';

/**
 * The configuration as a campaign that is known already would have it: those from before the simulated user and the
 * judge were part of it go on without them.
 */
export function asBefore<C extends CampaignConfig>(config: C, known: unknown): C {
  if (typeof known !== 'object' || known === null || 'people' in known) return config;
  const { people: _people, ...rest } = config;
  return rest as C;
}

/** `parent`: the campaign that starts this one, or null. */
export function campaignClaim(
  id: string,
  config: CampaignConfig,
  parent: string | null,
): Parameters<Ledger['claimCampaign']>[0] {
  const { kind, suite, suiteDigest } = config;
  return { id, kind, config, fingerprint: fingerprint(config), suite, suiteDigest, parent };
}
