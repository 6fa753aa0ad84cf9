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
import type { ServingActivities } from '../activities/serving/activities.js';
import type { ServingControl } from '../activities/serving/control.js';
import type { TrainerActivities } from '../activities/trainer/activities.js';
import type { JobActivities } from '../activities/verl/activities.js';
import type { RunHosts } from '../activities/verl/hosts.js';
import { ACTIVITIES, QUEUES, serverQueue } from '../temporal.config.js';

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

/** Servings in the ledger. Waiting for one takes as long as a model takes to come up, on several hosts if need be. */
export const servings = proxyActivities<ServingControl>({
  taskQueue: QUEUES.pipeline,
  ...ACTIVITIES.waiting,
});

/** All GPU hosts of a run: waited for as long as others have them. */
export const runHosts = proxyActivities<RunHosts>({
  taskQueue: QUEUES.pipeline,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  ...ACTIVITIES.waiting,
});

/** The one slot for a server on a host. A host that takes nothing for `hostMs` is not waited for. */
export function keeperOn(host: string, hostMs: number) {
  return proxyActivities<ServingActivities>({
    taskQueue: serverQueue(host),
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    scheduleToStartTimeout: hostMs,
    ...ACTIVITIES.server,
  });
}

/** The same slot, for a trainer that has all of the host's GPUs. It is waited for: a run has its hosts by name. */
export function jobOn(host: string) {
  return proxyActivities<JobActivities>({
    taskQueue: serverQueue(host),
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    ...ACTIVITIES.job,
  });
}
