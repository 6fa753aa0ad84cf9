/** Progress as text: one line a campaign, the same for `status` and for a running command. */
import pc from 'picocolors';
import type { FaultKind } from '../../core/faults.js';
import type { JobNote } from '../../core/verl/job.js';
import type { CampaignSnapshot, TrainingSnapshot } from './snapshot.js';

const BAR = 20;

/** `lanes`: how many episodes may be in flight, where somebody has asked its workflow. */
export function progressLine(campaign: CampaignSnapshot, lanes?: number): string {
  const { id, state, counts } = campaign;
  const parts = [
    pc.bold(id.padEnd(22)),
    stateText(state),
    campaign.training ? trainingText(campaign) : attemptsText(campaign),
  ];
  if (lanes !== undefined)
    parts.push(`${campaign.running} in flight of ${lanes} ${lanes === 1 ? 'lane' : 'lanes'}`);
  if (campaign.imported) parts.push(pc.magenta(`imported from ${campaign.imported.join(', ')}`));
  if (campaign.notComparable) parts.push(pc.magenta('not comparable with published results'));
  if (state === 'running') {
    if (campaign.perMinute > 0) parts.push(`${(campaign.perMinute / 60).toFixed(1)}/s`);
    if (campaign.secondsLeft !== null && campaign.secondsLeft > 0) {
      parts.push(`${durationText(campaign.secondsLeft)} left`);
    }
  }
  const faults = faultText(counts.faults);
  if (faults) parts.push(pc.yellow(faults));
  if (state === 'stopped' && counts.stopped) parts.push(stoppedText(counts.stopped));
  if (counts.exhausted > 0) parts.push(pc.red(`${counts.exhausted} exhausted`));
  if (campaign.cause) parts.push(pc.red(campaign.cause));
  return parts.join('  ');
}

function attemptsText({ counts, expected }: CampaignSnapshot): string {
  const total = expected ?? counts.planned;
  const share = total === 0 ? 0 : counts.clean / total;
  // The coverage gate holds here too: no score of an unfinished campaign.
  const complete = total > 0 && counts.clean === total;
  const rate = complete ? `, ${((100 * counts.passed) / total).toFixed(1)} % passed` : '';
  return `${bar(share)} ${counts.clean}/${total} episodes${rate}`;
}

function trainingText({ training, counts }: CampaignSnapshot): string {
  if (training!.job) return jobText(training!, training!.job);
  const { steps, done, current, currentClean, currentPlanned, last, refills } = training!;
  const within = current && currentPlanned > 0 ? currentClean / currentPlanned : 0;
  const parts = [`${bar(steps === 0 ? 0 : (done + within * 0.9) / steps)} step ${done}/${steps}`];
  if (current) parts.push(`now ${currentClean}/${currentPlanned} episodes`);
  if (last) {
    const { reward, zeroVarianceShare } = last.metrics;
    if (typeof reward === 'number') parts.push(`reward ${reward.toFixed(2)}`);
    if (typeof zeroVarianceShare === 'number') {
      parts.push(`zero-variance ${(100 * zeroVarianceShare).toFixed(0)} %`);
    }
    parts.push(`${refills} refills`);
  }
  parts.push(`${counts.clean} episodes`);
  return parts.join(', ');
}

/** Verl counts its own episodes. A step may be trained again: where it is, is what it said last. */
function jobText({ steps, done, last }: TrainingSnapshot, job: JobNote): string {
  const at = job.step ?? done;
  const parts = [`${bar(steps === 0 ? 0 : at / steps)} step ${at}/${steps}`];
  const reward = last?.metrics.reward;
  if (typeof reward === 'number') parts.push(`reward ${reward.toFixed(2)}`);
  parts.push(job.checkpoint === null ? 'no checkpoint yet' : `checkpoint ${job.checkpoint}`);
  parts.push(`job ${job.state} on ${job.host}`);
  if (job.restarts > 0) parts.push(`started again ${job.restarts} ${job.restarts === 1 ? 'time' : 'times'}`);
  const problem = job.problem === null ? '' : pc.yellow(`\n  last problem: ${job.problem.split('\n')[0]}`);
  return parts.join(', ') + problem;
}

export function faultText(faults: Readonly<Partial<Record<FaultKind, number>>>): string {
  const kinds = Object.entries(faults).filter(([, count]) => count > 0);
  if (kinds.length === 0) return '';
  return `system errors: ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`;
}

/** What was in flight when somebody stopped the campaign. */
function stoppedText(tries: number): string {
  return `${tries} ${tries === 1 ? 'try' : 'tries'} stopped in flight`;
}

export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

export function stateText(state: CampaignSnapshot['state']): string {
  const padded = state.padEnd(7);
  if (state === 'done') return pc.green(padded);
  if (state === 'failed') return pc.red(padded);
  if (state === 'running') return pc.cyan(padded);
  return pc.yellow(padded);
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * BAR);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`;
}
