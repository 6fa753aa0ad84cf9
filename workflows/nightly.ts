/**
 * One night of a schedule: find the checkpoint, claim the evaluation, run it, judge it, tell of a regression, report.
 *
 * Temporal starts it with the time for which it was due at the end of its id; a night that is run again by hand is told
 * its time. What fails is recorded on the night first. Neither a message that nobody takes nor a report that cannot be
 * written loses a night that has its scores.
 */
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  isCancellation,
  log,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { NightPlan } from '../activities/nightly/activities.js';
import type { NightRef, NightState } from '../core/nightly/schedule.js';
import { evaluation } from './attempts-campaign.js';
import { causeOf } from './failure.js';
import { nightlies, trainers, webhooks } from './proxies.js';

export interface NightlyInput {
  readonly schedule: string;
  /** For a night that is run again; absent: the time for which Temporal started it. */
  readonly at?: string;
}

export interface NightlyResult {
  readonly evaluation: string | null;
  readonly state: NightState;
  readonly regression: boolean;
}

export async function nightly({ schedule, at = dueTime() }: NightlyInput): Promise<NightlyResult> {
  const night: NightRef = { schedule, at };
  const plan = await nightlies.openNight(night);
  if (plan.done) return { evaluation: null, state: 'done', regression: false };
  let claimed: string;
  let closed: Awaited<ReturnType<typeof nightlies.closeNight>>;
  try {
    claimed = await evaluate(night, plan);
    closed = await nightlies.closeNight(night);
  } catch (error) {
    const state = isCancellation(error) ? 'stopped' : 'failed';
    await CancellationScope.nonCancellable(async () => {
      await nightlies.failNight(night, state, causeOf(error));
      await report(night);
    });
    throw error;
  }
  await CancellationScope.nonCancellable(async () => {
    if (closed.regression && plan.tells) await tell(night);
    await report(night);
  });
  return { evaluation: claimed, ...closed };
}

/** Runs the night's evaluation to its end, on weights that are given back afterwards. */
async function evaluate(
  night: NightRef,
  { follow, lanes, place = {} }: Pick<NightPlan, 'follow' | 'lanes' | 'place'>,
): Promise<string> {
  const checkpoint = follow === null ? null : await trainers.newestVerified(follow);
  const { evaluation: campaign, leases } = await nightlies.claimNight(night, checkpoint);
  try {
    const child = await startChild(evaluation, {
      workflowId: campaign,
      args: [{ campaign, lanes, control: { paused: false, stop: 'no', ...place } }],
      cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    });
    await child.result();
  } finally {
    if (leases > 0) await CancellationScope.nonCancellable(() => trainers.releaseModel(campaign, leases));
  }
  return campaign;
}

async function tell(night: NightRef): Promise<void> {
  try {
    await webhooks.tellRegression(night);
  } catch (error) {
    await nightlies.noteUntold(night, causeOf(error));
  }
}

async function report(night: NightRef): Promise<void> {
  try {
    await nightlies.writeNightReport(night);
  } catch (error) {
    log.warn('the report of a night was not written', { night, error });
  }
}

/** Temporal's own note of the time for which a schedule started this. */
function dueTime(): string {
  const [time] = workflowInfo().searchAttributes.TemporalScheduledStartTime ?? [];
  const due = time instanceof Date ? time : new Date(String(time));
  if (!Number.isNaN(due.getTime())) return due.toISOString();
  throw ApplicationFailure.nonRetryable('a night without a time: it was not started by a schedule');
}
