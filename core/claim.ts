/** What a campaign is claimed with, from its configuration: one place, so that a name means the same everywhere. */
import type { CampaignConfig } from './campaign.js';
import { fingerprint } from './fingerprint.js';
import type { Ledger } from './ledger.js';

/** `parent`: the campaign that starts this one, or null. */
export function campaignClaim(
  id: string,
  config: CampaignConfig,
  parent: string | null,
): Parameters<Ledger['claimCampaign']>[0] {
  const { kind, suite, suiteDigest } = config;
  return { id, kind, config, fingerprint: fingerprint(config), suite, suiteDigest, parent };
}
