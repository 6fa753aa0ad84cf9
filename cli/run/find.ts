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
  throw unknownCampaign(name, ids);
}

/** The same for verbs that take evaluations only: `demo-base` is `eval/demo-base`, whatever else has that name. */
export async function resolveEvaluation(ledger: Ledger & LedgerReads, name: string): Promise<CampaignRow> {
  const known = (await ledger.campaign(name)) ?? (await ledger.campaign(`eval/${name}`));
  if (known?.kind === 'eval') return known;
  const ids = (await ledger.campaigns({ kind: 'eval', limit: 1_000 })).map(({ id }) => id);
  if (!known) throw unknownCampaign(name, ids, 'a known evaluation');
  const near = ids.filter((id) => id.startsWith(`eval/${name.slice(name.indexOf('/') + 1)}`));
  const hint = near.length > 0 ? near : ids.slice(0, 5);
  throw new UsageError(
    'evaluation',
    'an evaluation, e.g. eval/demo-final',
    `${known.id}, a ${known.kind} campaign`,
    hint.length > 0 ? `Known: ${hint.join(', ')}` : 'The ledger has no evaluation yet.',
  );
}

/** Full ids and bare names are compared: either may have been mistyped. */
function unknownCampaign(name: string, ids: readonly string[], expected = 'a known campaign'): UsageError {
  const byName = ids.map((id) => (name.includes('/') ? id : id.slice(id.indexOf('/') + 1)));
  const words = new Set(nearestFew(name, new Set(byName), 3));
  const near = ids.filter((_, index) => words.has(byName[index]!));
  const hint = near.length > 0 ? near.slice(0, 5) : ids.slice(0, 5);
  return new UsageError(
    'campaign',
    expected,
    `"${name}"`,
    near.length > 0
      ? `Did you mean ${hint.join(', ')}?`
      : hint.length > 0
        ? `Known: ${hint.join(', ')}`
        : 'The ledger has none yet.',
  );
}
