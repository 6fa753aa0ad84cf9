/**
 * A training run whose trainer is one job on its GPU hosts: Verl's own. It takes all of them, then one activity keeps the
 * job from its first start to its last checkpoint; a pause or a stop ends it, and it goes on from its newest checkpoint
 * later.
 */
import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { CampaignState } from '../core/ledger.js';
import { Control } from './control.js';
import { recordingFailure } from './failure.js';
import { campaigns, jobOn, runHosts } from './proxies.js';
import type { TrainInput } from './training-run.js';

export interface JobRunResult {
  readonly state: CampaignState;
}

export async function jobRun(input: TrainInput): Promise<JobRunResult> {
  return recordingFailure(input.campaign, () => runJob(input));
}

async function runJob({ campaign, lanes, control: initial }: TrainInput): Promise<JobRunResult> {
  const control = new Control({
    lanes,
    initial,
    record: (paused) => campaigns.setState(campaign, paused ? 'paused' : 'running', null),
  });
  const { host } = await campaigns.openJob(campaign);
  await control.opened();
  let done = false;
  while (!done && !control.stopping) {
    await control.clear();
    if (control.stopping) break;
    done = await untilPaused(control, async () => {
      await runHosts.takeHosts(campaign);
      await jobOn(host).keepJob(campaign);
    });
    await runHosts.releaseHosts(campaign);
  }
  await control.close();
  const state: CampaignState = done ? 'done' : 'stopped';
  await CancellationScope.nonCancellable(() => campaigns.closeTraining(campaign, state, null));
  return { state };
}

/** False when a person had it end before it was done. The activity says so when its job has ended, not before. */
async function untilPaused(control: Control, work: () => Promise<unknown>): Promise<boolean> {
  const scope = new CancellationScope({ cancellable: true });
  let over = false;
  const asked = CancellationScope.nonCancellable(async () => {
    await condition(() => over || control.stopping || control.state.paused);
    if (!over) scope.cancel();
  });
  try {
    await scope.run(work);
    return true;
  } catch (error) {
    if (isCancellation(error) && (control.stopping || control.state.paused)) return false;
    throw error;
  } finally {
    over = true;
    await asked;
  }
}
