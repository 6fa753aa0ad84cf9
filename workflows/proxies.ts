/** Activities by queue, with the options of `temporal.config.ts`. */
import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import type { CampaignActivities } from '../activities/campaign/activities.js';
import type { EpisodeActivities } from '../activities/episode/activities.js';
import type { NightlyActivities } from '../activities/nightly/activities.js';
import type { TrainerActivities } from '../activities/trainer/activities.js';
import { ACTIVITIES, QUEUES } from '../temporal.config.js';

/** Ledger work: planning, selection, summaries. */
export const campaigns = proxyActivities<CampaignActivities>({
  taskQueue: QUEUES.pipeline,
  ...ACTIVITIES.ledger,
});

/** One activity an episode, never two. For `EpisodeQueue`, which knows the queue and the order. */
export function episodesOf(
  where: Required<Pick<ActivityOptions, 'taskQueue' | 'priority'>>,
): ActivityInterfaceFor<EpisodeActivities> {
  return proxyActivities<EpisodeActivities>({
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    ...ACTIVITIES.episode,
    ...where,
  });
}

/** The trainer's host. */
export const trainers = proxyActivities<TrainerActivities>({
  taskQueue: QUEUES.gpu,
  ...ACTIVITIES.gpu,
});

/** Nights of schedules. */
export const nightlies = proxyActivities<NightlyActivities>({
  taskQueue: QUEUES.pipeline,
  ...ACTIVITIES.ledger,
});

/** What tells others: few tries, since nothing waits for it. */
export const webhooks = proxyActivities<Pick<NightlyActivities, 'tellRegression'>>({
  taskQueue: QUEUES.pipeline,
  ...ACTIVITIES.webhook,
});
