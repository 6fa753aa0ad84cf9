/** Everything that runs on the pipeline queue. */
import { asFailure } from '../failures.js';
import { createAttemptsActivities } from './attempts.js';
import { type CampaignDeps, Configurations } from './deps.js';
import { createJobRunActivities } from './jobs.js';
import { createStageActivities } from './stages.js';
import { createTrainingActivities } from './training.js';

export type CampaignActivities = ReturnType<typeof createCampaignActivities>;

export function createCampaignActivities(deps: CampaignDeps) {
  const configs = new Configurations(deps.ledger);
  return failing({
    ...createAttemptsActivities(deps, configs),
    ...createTrainingActivities(deps, configs),
    ...createJobRunActivities(deps, configs),
    ...createStageActivities(deps, configs),
  });
}

/** Faults and usage errors that no retry can help reach Temporal as such. */
// biome-ignore lint/suspicious/noExplicitAny: activities of every signature pass through unchanged
export function failing<T extends Record<string, (...args: any[]) => Promise<unknown>>>(activities: T): T {
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      async (...args: unknown[]) => {
        try {
          return await activity(...args);
        } catch (error) {
          throw asFailure(error);
        }
      },
    ]),
  ) as T;
}
