/** Suite and prompts of a campaign are those it was started with: asked when it opens, and by every process that plays for it. */
import type { CampaignConfig } from '../../core/campaign.js';
import { notAccepted, promptsDrift, suiteDrift } from '../../core/drift.js';
import { UsageError } from '../../core/faults.js';
import type { CampaignRow } from '../../core/ledger.js';
import { promptsDigest } from '../../core/prompts.js';
import type { Suite } from '../../core/suite.js';
import { type CampaignDeps, campaignRow } from './deps.js';

type Deps = Pick<CampaignDeps, 'ledger' | 'suite'>;

/** A suite or a user that changed under a campaign would mix two benchmarks in one score. */
export async function refuseChangedSuite(deps: Deps, id: string): Promise<void> {
  const row = await campaignRow(deps.ledger, id);
  const suite = await deps.suite(row.suite);
  refuseChangedPrompts(row, suite);
  if (notAccepted(suiteDrift(row.suite, row.suiteDigest, suite.digest), row.result).length === 0) return;
  throw new UsageError(
    `suite ${row.suite} of ${id}`,
    `digest ${row.suiteDigest}, as when the campaign was started`,
    suite.digest,
    'Go back to that version of the suite, or start a campaign under another name.',
  );
}

/** Other words are another user, and another judge. */
function refuseChangedPrompts({ id, config, result }: CampaignRow, { userWords }: Suite): void {
  const recorded = (config as CampaignConfig).people?.prompts;
  const [changed] = notAccepted(promptsDrift(recorded, promptsDigest(userWords)), result);
  if (!changed) return;
  throw new UsageError(
    `prompts of user and judge of ${id} (people.prompts)`,
    `digest ${changed.recorded}, as when the campaign was started`,
    changed.found,
    'Go back to that version of Steadfast, or start a campaign under another name.',
  );
}

/**
 * The same for a process that plays episodes, which `up` may have started with changed code in the middle of a
 * campaign. A suite cannot change while a process lives, so each campaign is looked at once.
 */
export function suiteGuard(deps: Deps): (campaign: string) => Promise<void> {
  const looked = new Map<string, Promise<void>>();
  return (campaign) => {
    const known = looked.get(campaign);
    if (known) return known;
    const look = refuseChangedSuite(deps, campaign);
    looked.set(campaign, look);
    // Asked again: the change may be accepted, or the database may have been away.
    look.catch(() => looked.delete(campaign));
    return look;
  };
}
