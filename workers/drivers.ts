/** The sandbox drivers of this host, and the reaper that runs when a worker starts. */
import os from 'node:os';
import { createDockerDriver } from '../activities/sandbox/docker/driver.js';
import { engineSettings } from '../activities/sandbox/docker/engine.js';
import { createInlineDriver } from '../activities/sandbox/inline.js';
import { createProcessDriver } from '../activities/sandbox/process.js';
import type { Ledger } from '../core/ledger.js';
import { type Isolation, type SandboxDriver, stronger } from '../core/sandbox.js';
import type { WorkerEnvironment } from './environment.js';

/** `least`: what the operator demands; a suite that needs more gets more, none gets less. */
export function sandboxDrivers(
  home: string,
  least: Isolation = 'inline',
): (isolation: Isolation) => SandboxDriver {
  const drivers: Readonly<Record<Isolation, SandboxDriver>> = {
    inline: createInlineDriver(),
    process: createProcessDriver(home),
    docker: createDockerDriver({ home, host: os.hostname(), engine: engineSettings(process.env) }),
  };
  return (needed) => drivers[stronger(needed, least)];
}

/** Ends what workers of this host that were killed have left behind. Those of living workers are not touched. */
export async function reapOpenSandboxes(
  ledger: Pick<Ledger, 'openSandboxes' | 'sandboxEnded'>,
  environment: Pick<WorkerEnvironment, 'host' | 'identity'>,
  driver: (isolation: Isolation) => SandboxDriver,
): Promise<void> {
  for (const { name, isolation, worker } of await ledger.openSandboxes(environment.host, [])) {
    if (worker !== environment.identity && isAlive(worker)) continue;
    await driver(isolation as Isolation).reap(name);
    await ledger.sandboxEnded(name, 'reaped');
  }
}

/** By the process id in `host:pid`. A reused id only delays the reaping. */
function isAlive(worker: string): boolean {
  const pid = Number(worker.slice(worker.lastIndexOf(':') + 1));
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
