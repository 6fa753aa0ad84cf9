/** Whether this machine can make the sandboxes of a campaign, asked before it is claimed; and how they will be made. */
import { engineSettings } from '../../activities/sandbox/docker/engine.js';
import { requireContainers } from '../../activities/sandbox/docker/preflight.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { homeFolder } from '../../infra/setup/root.mjs';
import { readStack } from '../../infra/stack/info.js';
import { passedOn } from '../../infra/stack/passed-on.js';
import { isolationOf } from '../../workers/environment.js';
import { withSuite } from './suite.js';

/** Throws `UsageError`. Of workers on other machines nothing is known here, and nothing is asked. */
export async function requireSandboxes(config: CampaignConfig): Promise<void> {
  const env = containerSettings();
  if (env)
    await withSuite(config.suite, (suite) => requireContainers(suite, homeFolder(), engineSettings(env)));
}

/** For `--dry-run`: nothing where the suite's own isolation holds, or `requireSandboxes` has something to say. */
export async function sandboxLines(config: CampaignConfig): Promise<readonly string[]> {
  try {
    const env = containerSettings();
    return env ? [await words(config, env)] : [];
  } catch (error) {
    if (error instanceof UsageError) return [];
    throw error;
  }
}

function words(config: CampaignConfig, env: NodeJS.ProcessEnv): Promise<string> {
  const { runtime, endpoints = [] } = engineSettings(env);
  return withSuite(config.suite, ({ images = [], endpoints: needed = [] }) => {
    const reached = needed.map((one) => (endpoints.includes(one) ? one : `${one} (not approved)`));
    const parts = [
      `containers of ${images.join(', ') || 'no image'}`,
      ...(runtime === undefined ? [] : [`runtime ${runtime}`]),
      reached.length === 0 ? 'no network' : `no network but ${reached.join(', ')}`,
    ];
    return Promise.resolve(`sandboxes: ${parts.join('; ')}`);
  });
}

/** What the workers of this machine have been given, and what they would be given now; undefined: no containers. */
function containerSettings(): NodeJS.ProcessEnv | undefined {
  // No suite of today asks for containers itself, and opening one to hear that can take seconds.
  const env = { ...process.env, ...passedOn(process.env, readStack()?.passedOn) };
  if (isolationOf(env.STEADFAST_ISOLATION) !== 'docker') return undefined;
  return env.TEMPORAL_ADDRESS && env.DATABASE_URL ? undefined : env;
}
