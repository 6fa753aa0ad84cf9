/** The exact commands that can go on with a campaign that is not done. */
import type { TrainConfig } from '../../core/campaign.js';
import { campaignId } from '../../core/keys.js';
import type { CampaignRow, Ledger, StepRow } from '../../core/ledger.js';
import { nameOf, stageCampaignId } from '../../core/stage-configs.js';
import { MOST_EPISODE_MS } from '../../temporal.config.js';

const WIDTH = 28;

export async function goOnText(ledger: Ledger, row: CampaignRow): Promise<string[]> {
  const cause = causeOf(row);
  const head = `${row.id} is ${row.state}${cause ? `: ${cause.replace(/\.$/, '')}` : ''}.`;
  return ['', head, ...(await goOnLines(ledger, row))];
}

/** The commands alone, one a line. */
export async function goOnLines(ledger: Ledger, row: CampaignRow): Promise<string[]> {
  const run = row.kind === 'pipeline' ? await ledger.campaign(stageCampaignId(row.id, 'train')) : row;
  const open = run?.kind === 'train' ? await openStep(ledger, run.id) : undefined;
  if (row.state === 'paused') {
    if (run && open?.state === 'failed') return stepLines(ledger, run, open, row.id);
    const what = causeOf(row) ? 'try what is missing again' : 'go on';
    return [line(what, `steadfast unpause ${row.id}`), line('give up', `steadfast stop ${row.id}`)];
  }
  // A run's own settings are in the ledger: nobody has to remember how it was started.
  if (row.kind === 'train' && open)
    return [line('go on', `steadfast replay step --run ${nameOf(row.id)} --step ${open.step}`)];
  return ['  the same command again goes on where its committed rows end'];
}

/** One sentence with the command that goes on with a campaign that has ended; undefined where there is none. */
export async function goOnHint(ledger: Ledger, row: CampaignRow): Promise<string | undefined> {
  if (row.kind === 'train' && row.state === 'done')
    return `Give it more steps with: steadfast extend ${row.id} --steps N`;
  if (row.state === 'done') return undefined;
  const open = row.kind === 'train' ? await openStep(ledger, row.id) : undefined;
  if (!open)
    return 'Start it again with the command that started it: it goes on where its committed rows end.';
  return `Go on with: steadfast replay step --run ${nameOf(row.id)} --step ${open.step}`;
}

function causeOf({ result }: CampaignRow): string | null {
  return (result as { cause?: string | null } | null)?.cause ?? null;
}

/** The step that has begun and not ended. */
async function openStep(ledger: Ledger, run: string): Promise<StepRow | undefined> {
  return (await ledger.steps(run)).find(({ state }) => state !== 'done' && state !== 'skipped');
}

/** Retry, change a setting, skip, stop. Nothing that the step had is lost by any of them. */
async function stepLines(
  ledger: Ledger,
  run: CampaignRow,
  step: StepRow,
  stopped: string,
): Promise<string[]> {
  const name = nameOf(run.id);
  const which = `--run ${name} --step ${step.step}`;
  const setting = await likelySetting(ledger, run.config as TrainConfig, step);
  const fork = `steadfast replay step ${which} --fork ${await freeName(ledger, name)} --set ${setting}`;
  return [
    ...(isOffPolicy(step) ? [line('look for the reason', `steadfast verify parity --run ${run.id}`)] : []),
    ...(isDamaged(step) ? [line('see what is damaged', `steadfast verify ledger --campaign ${run.id}`)] : []),
    line('run what is missing of it', `steadfast replay step ${which}`),
    line('change a setting', fork),
    ...(isOffPolicy(step)
      ? [line('and weigh its tokens', `${fork} --set plan.importance.kind=truncated`)]
      : []),
    line('leave the step out', `steadfast skip ${run.id} --step ${step.step}`),
    line('give up', `steadfast stop ${stopped}`),
  ];
}

/** `run-1-2`, or with the next number that no run has. */
async function freeName(ledger: Ledger, name: string): Promise<string> {
  for (let number = 2; ; number++) {
    const free = `${name}-${number}`;
    if (!(await ledger.campaign(campaignId('train', free)))) return free;
  }
}

/** The trainer refused the batch: its sampler was another policy than the trainer has. */
function isOffPolicy({ cause }: StepRow): boolean {
  return cause?.includes('off policy:') ?? false;
}

/** Something that was recorded cannot be read. */
function isDamaged({ cause }: StepRow): boolean {
  return /\b(?:artifact|batch) sha256:/.test(cause ?? '');
}

/** A bound that this batch stays within, with a fifth to spare; none where the trainer did not say how far off it was. */
function widerBound({ metrics }: StepRow): string {
  if (typeof metrics.mismatchMean !== 'number' || typeof metrics.mismatchShare !== 'number')
    return 'plan.mismatch=none';
  const wider = (value: number) => Number((1.2 * value).toPrecision(2));
  const mean = wider(metrics.mismatchMean);
  const share = Math.min(1, wider(metrics.mismatchShare));
  return `plan.mismatch.meanAbove=${mean} --set plan.mismatch.shareAbove=${share}`;
}

/** The setting whose change can help against the recorded cause. */
async function likelySetting(
  ledger: Ledger,
  { shape, limits, plan }: TrainConfig,
  step: StepRow,
): Promise<string> {
  const cause = step.cause ?? '';
  if (cause.includes('(deadline,')) {
    const most = MOST_EPISODE_MS;
    if (limits.episodeMs < most) return `limits.episodeMs=${Math.min(2 * limits.episodeMs, most)}`;
    return `limits.messageMs=${2 * limits.messageMs}`;
  }
  if (isOffPolicy(step)) return widerBound(step);
  if (!cause.includes('informative')) return `plan.learningRate=${plan.learningRate / 2}`;
  const groups = await ledger.groups(step.run, step.step);
  const informative = groups.filter(({ state }) => state === 'informative').length;
  if (informative > 0) return `shape.minInformative=${informative}`;
  const rounds = shape.maxRefillRounds + 2;
  const maxGroups = shape.groups * (rounds + 1);
  // Rounds that no group may be started in are none.
  const more = maxGroups > shape.maxGroups ? ` --set shape.maxGroups=${maxGroups}` : '';
  return `shape.maxRefillRounds=${rounds}${more}`;
}

function line(what: string, command: string): string {
  return `  ${what.padEnd(WIDTH)}${command}`;
}
