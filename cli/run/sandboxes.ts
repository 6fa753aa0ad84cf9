/** Whether this machine can make the sandboxes of a campaign, asked before it is claimed. */
import { engineSettings } from '../../activities/sandbox/docker/engine.js';
import { requireContainers } from '../../activities/sandbox/docker/preflight.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { homeFolder } from '../../infra/setup/root.mjs';
import { isolationOf } from '../../workers/environment.js';
import { withSuite } from './suite.js';

/** Throws `UsageError`. Of workers on other machines nothing is known here, and nothing is asked. */
export async function requireSandboxes(config: CampaignConfig, env = process.env): Promise<void> {
  // No suite of today asks for containers itself, and opening one to hear that can take seconds.
  if (isolationOf(env.STEADFAST_ISOLATION) !== 'docker') return;
  if (env.TEMPORAL_ADDRESS && env.DATABASE_URL) return;
  await withSuite(config.suite, (suite) => requireContainers(suite, homeFolder(), engineSettings(env)));
}
