/** Finding a campaign by what a person types. */
import { UsageError } from '../../core/faults.js';
import type { CampaignRow, Ledger, StepRow } from '../../core/ledger.js';
import type { AttemptDetail, LedgerReads } from '../../core/ledger-reads.js';
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

/** Whether an id, or the bare name of an evaluation, is in the ledger. */
export async function knownCampaign(ledger: Ledger, name: string): Promise<boolean> {
  return ((await ledger.campaign(name)) ?? (await ledger.campaign(`eval/${name}`))) !== undefined;
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

/** For verbs that take training runs only: `demo` is `train/demo`, and a pipeline stands for its own run. */
export async function resolveRun(ledger: Ledger & LedgerReads, name: string): Promise<CampaignRow> {
  const bare = name.slice(name.indexOf('/') + 1);
  const named = await ledger.campaign(name);
  const known =
    !named || named.kind === 'pipeline'
      ? await ledger.campaign(name.includes('/') && !named ? name : `train/${bare}`)
      : named;
  if (known?.kind === 'train') return known;
  const ids = (await ledger.campaigns({ kind: 'train', limit: 1_000 })).map(({ id }) => id);
  if (!known) throw unknownCampaign(name, ids, 'a known training run');
  throw new UsageError(
    'training run',
    'a training run, e.g. train/demo',
    `${known.id}, a campaign of kind ${known.kind}`,
    ids.length > 0 ? `Known: ${ids.slice(0, 5).join(', ')}` : 'The ledger has no training run yet.',
  );
}

/** A step of a run that has begun. Throws `UsageError` that names the nearest. */
export async function resolveStep(ledger: Ledger, run: string, step: number): Promise<StepRow> {
  const steps = await ledger.steps(run);
  const found = steps.find((row) => row.step === step);
  if (found) return found;
  const near = [...steps].sort((a, b) => Math.abs(a.step - step) - Math.abs(b.step - step)).slice(0, 3);
  const known = near
    .sort((a, b) => a.step - b.step)
    .map((row) => `${row.step} (${row.state})`)
    .join(', ');
  throw new UsageError(
    `step of ${run}`,
    'a step that has begun',
    String(step),
    known ? `Nearest: ${known}` : 'No step of it has begun yet.',
  );
}

/** One attempt by its key. Throws `UsageError` that names the nearest keys. */
export async function resolveAttempt(ledger: Ledger & LedgerReads, key: string): Promise<AttemptDetail> {
  const known = await ledger.attempt(key);
  if (known) return known;
  const campaign = key.split(' · ')[0]!.replace(/\/step-\d+$/, '');
  const planned = (await ledger.campaign(campaign)) !== undefined;
  const keys = planned ? (await ledger.attempts(campaign)).map((row) => row.key) : [];
  const near = nearestFew(key, keys, 3);
  throw new UsageError(
    'attempt key',
    'a key of the ledger',
    `"${key}"`,
    near.length > 0
      ? `Nearest: ${near.join('; ')}`
      : `List keys with: steadfast episodes${planned ? ` ${campaign}` : ''}`,
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
