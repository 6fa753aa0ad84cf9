/** The sandbox drivers of this host. */
import { createDockerDriver } from '../activities/sandbox/docker/driver.js';
import { engineSettings } from '../activities/sandbox/docker/engine.js';
import { createInlineDriver } from '../activities/sandbox/inline.js';
import { createProcessDriver } from '../activities/sandbox/process.js';
import type { WarmSettings } from '../activities/sandbox/warm/pool.js';
import { type Isolation, type SandboxDriver, stronger } from '../core/sandbox.js';
import { hostName } from '../infra/host-name.js';

/**
 * `least`: what the operator demands; a suite that needs more gets more, none gets less. `warm`: of a worker that plays
 * episodes; absent, nothing is started ahead. `env` says which engine, and the name of this host.
 */
export function sandboxDrivers(
  home: string,
  least: Isolation = 'inline',
  warm?: WarmSettings,
  env: NodeJS.ProcessEnv = process.env,
): (isolation: Isolation) => SandboxDriver {
  const drivers: Readonly<Record<Isolation, SandboxDriver>> = {
    inline: createInlineDriver(),
    process: createProcessDriver(home),
    docker: createDockerDriver({
      ...{ home, host: hostName(env), engine: engineSettings(env) },
      ...(warm && { warm }),
    }),
  };
  return (needed) => drivers[stronger(needed, least)];
}
