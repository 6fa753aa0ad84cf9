/** Finding a campaign by what a person types. */
import { UsageError } from '../../core/faults.js';
import type { CampaignRow, Ledger, LedgerReads } from '../../core/ledger.js';
import { nearestFew } from '../../core/nearest.js';

/** By id, or by a name that only one campaign has. Throws `UsageError` that names the nearest, or all that match. */
export async function resolveCampaign(ledger: Ledger & LedgerReads, name: string): Promise<CampaignRow> {
  const exact = await ledger.campaign(name);
  if (exact) return exact;
  const ids = (await ledger.campaigns({ limit: 1_000 })).map(({ id }) => id);
  const matching = ids.filter((id) => id.slice(id.indexOf('/') + 1) === name);
  if (matching.length === 1) return (await ledger.campaign(matching[0]!))!;
  if (matching.length > 1) {
    const pipeline = matching.find((id) => id.startsWith('pipeline/'));
    if (pipeline) return (await ledger.campaign(pipeline))!;
    throw new UsageError('campaign', 'one campaign', `"${name}" names ${matching.join(', ')}`);
  }
  const near = nearestFew(name, ids, 3);
  const hint = near.length > 0 ? near : ids.slice(0, 5);
  throw new UsageError(
    'campaign',
    'a known campaign',
    `"${name}"`,
    hint.length > 0 ? `Known: ${hint.join(', ')}` : 'The ledger has none yet.',
  );
}
