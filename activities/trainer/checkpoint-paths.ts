/** Folders of recorded checkpoints, and the one that a run starts from. */
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';

/** Throws `Fault('trainer', code: 'no_checkpoint' | 'pruned')`, naming those that exist, or when and why it was pruned. */
export async function checkpointPath(
  ledger: Pick<Ledger, 'checkpoints'>,
  run: string,
  step: number | 'latest',
): Promise<string> {
  return (await checkpointRow(ledger, run, step)).path;
}

async function checkpointRow(
  ledger: Pick<Ledger, 'checkpoints'>,
  run: string,
  step: number | 'latest',
): Promise<CheckpointRow> {
  const rows = await ledger.checkpoints(run);
  const row = rows.find((candidate) => (step === 'latest' ? !candidate.pruned : candidate.step === step));
  if (row?.pruned) {
    const { at, rule } = row.pruned;
    throw new Fault('trainer', `${run}: the checkpoint of step ${step} was pruned at ${at}: ${rule}`, {
      code: 'pruned',
      retry: false,
    });
  }
  if (row) return row;
  const known = rows.flatMap((candidate) => (candidate.pruned ? [] : [candidate.step])).join(', ') || 'none';
  throw new Fault('trainer', `${run}: no checkpoint of step ${step}; recorded steps: ${known}`, {
    code: 'no_checkpoint',
    retry: false,
  });
}

type Sampled = Pick<Ledger, 'attempts' | 'campaign' | 'checkpoints' | 'noteOnCampaign'>;
type Named = { readonly run: string; readonly step: number | 'latest' };

/** Folder of the checkpoint that a campaign samples from. */
export async function sampledFolder(ledger: Sampled, campaign: string, named: Named): Promise<string> {
  return (await sampledCheckpoint(ledger, campaign, named)).path;
}

/**
 * The checkpoint that a campaign samples from. `latest` is what it was when the campaign first asked: a run that trains
 * on must not change what an evaluation is about, whatever is restarted meanwhile. Throws as `checkpointPath` does.
 */
export async function sampledCheckpoint(
  ledger: Sampled,
  campaign: string,
  { run, step }: Named,
): Promise<CheckpointRow> {
  if (step !== 'latest') return checkpointRow(ledger, run, step);
  const { checkpoint: pinned } = ((await ledger.campaign(campaign))?.result ?? {}) as {
    checkpoint?: { readonly step: number };
  };
  if (pinned) return checkpointRow(ledger, run, pinned.step);
  const rows = await ledger.checkpoints(run);
  const sampled = (await ledger.attempts(campaign)).find(({ weightVersion }) => weightVersion !== null);
  const found = rows.find(({ manifest, pruned }) =>
    sampled ? manifest.weightDigest === sampled.weightVersion : !pruned,
  );
  const row = await checkpointRow(ledger, run, found?.step ?? 'latest');
  if (found) await ledger.noteOnCampaign(campaign, { checkpoint: { run, step: found.step } });
  return row;
}

/** Folder of the checkpoint that a run starts from; undefined: the trainer's base. */
export async function startFolder(
  ledger: Pick<Ledger, 'checkpoints'>,
  { from }: Pick<TrainConfig, 'from'>,
): Promise<string | undefined> {
  return from === 'base' ? undefined : checkpointPath(ledger, from.run, from.step);
}
