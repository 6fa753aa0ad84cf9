/** The exact commands that can go on with a campaign that is not done. */
import type { TrainConfig } from '../../core/campaign.js';
import type { CampaignRow, Ledger, StepRow } from '../../core/ledger.js';
import { nameOf, stageCampaignId } from '../../core/stage-configs.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';

const WIDTH = 28;

export async function goOnText(ledger: Ledger, row: CampaignRow): Promise<string[]> {
  const cause = (row.result as { cause?: string | null } | null)?.cause;
  const lines = ['', `${row.id} is ${row.state}${cause ? `: ${cause.replace(/\.$/, '')}` : ''}.`];
  const run = row.kind === 'pipeline' ? await ledger.campaign(stageCampaignId(row.id, 'train')) : row;
  const failed = run?.kind === 'train' ? await failedStep(ledger, run.id) : undefined;
  if (run && failed && row.state === 'paused')
    return [...lines, ...(await stepLines(ledger, run, failed, row.id))];
  if (row.state === 'paused') {
    return [
      ...lines,
      line('try what is missing again', `steadfast unpause ${row.id}`),
      line('give up', `steadfast stop ${row.id}`),
    ];
  }
  return [...lines, '  the same command again goes on where its committed rows end'];
}

async function failedStep(ledger: Ledger, run: string): Promise<StepRow | undefined> {
  const open = (await ledger.steps(run)).find(({ state }) => state !== 'done' && state !== 'skipped');
  return open?.state === 'failed' ? open : undefined;
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
  const fork = `steadfast replay step ${which} --fork ${name}-2 --set ${setting}`;
  return [
    ...(isOffPolicy(step) ? [line('look for the reason', `steadfast verify parity --run ${run.id}`)] : []),
    line('run what is missing of it', `steadfast replay step ${which}`),
    line('change a setting', fork),
    ...(isOffPolicy(step)
      ? [line('and weigh its tokens', `${fork} --set plan.importance.kind=truncated`)]
      : []),
    line('leave the step out', `steadfast skip ${run.id} --step ${step.step}`),
    line('give up', `steadfast stop ${stopped}`),
  ];
}

/** The trainer refused the batch: its sampler was another policy than the trainer has. */
function isOffPolicy({ cause }: StepRow): boolean {
  return cause?.includes('off policy:') ?? false;
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
    const most = EPISODE_LIMITS.episodeMs;
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
