/** What a run asks of its trainer's updates, asked of the trainer before the run is claimed. */
import { createTrainerClient } from '../../activities/trainer/client.js';
import { requirePlan } from '../../activities/trainer/plan.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';

const ASK_MS = 5_000;

/**
 * Throws `UsageError` for settings that the trainer does not support. One that does not answer now is asked again
 * before the run's first step samples anything.
 */
export async function requireTrainerSupport(config: CampaignConfig, trainerUrl: string): Promise<void> {
  const plan = config.kind === 'train' ? config.plan : config.kind === 'pipeline' ? config.train.plan : null;
  if (plan === null || trainerUrl === '') return;
  try {
    await requirePlan(createTrainerClient({ url: trainerUrl }), plan, AbortSignal.timeout(ASK_MS));
  } catch (error) {
    const silent = error instanceof Fault && error.code === 'unreachable';
    if (!silent && (error as Error).name !== 'TimeoutError') throw error;
  }
}
