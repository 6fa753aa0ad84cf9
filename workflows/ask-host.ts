/**
 * One question to one GPU host, before a run: an activity on the host's own queue. It is no part of any run, keeps
 * nothing and changes nothing but the probe file that it is asked to write.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { HostQuestion } from '../core/cluster.js';
import { ACTIVITIES, hostQueue } from '../temporal.config.js';

export async function askHost({ host, activity, args }: HostQuestion): Promise<unknown> {
  const activities = proxyActivities<
    Record<HostQuestion['activity'], (...args: unknown[]) => Promise<unknown>>
  >({
    taskQueue: hostQueue(host),
    ...ACTIVITIES.host,
  });
  return activities[activity](...args);
}
