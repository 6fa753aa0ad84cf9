/** One sweep of this host's sandboxes by a command: what sandbox workers do every minute. */

import type { Ledger } from '../../core/ledger.js';
import { hostName } from '../../infra/host-name.js';
import type { StackInfo } from '../../infra/stack/info.js';
import type { Swept } from '../../workers/sweep.js';
import { say } from '../output.js';
import { workersEnvironment } from './local-workers.js';

export interface SweepOnce {
  readonly home: string;
  /** Of the workers whose sandboxes these are: host name, engine. */
  readonly env: NodeJS.ProcessEnv;
  /** Absent: only what says of itself that it has expired, or that who made it is gone. */
  readonly ledger?: Ledger;
}

/**
 * After the workers of a home have ended: what they could not release within their grace. The ledger is gone with the
 * stack; the next worker that starts writes down there that these are ended.
 */
export async function endSandboxes(
  home: string,
  info: Pick<StackInfo, 'passedOn'> | undefined,
): Promise<void> {
  const { reaped, problems } = await sweepOnce({ home, env: workersEnvironment(info ?? {}) });
  if (reaped.length > 0) say(`ended ${reaped.length} sandboxes that the workers had left`);
  for (const problem of problems) say(problem);
}

/** Never rejects for a sandbox or an engine; each is a line among the problems. */
export async function sweepOnce({ home, env, ledger }: SweepOnce): Promise<Swept> {
  const { sandboxDrivers } = await import('../../workers/drivers.js');
  const { sweepSandboxes } = await import('../../workers/sweep.js');
  const host = hostName(env);
  const environment = { host, identity: `${host}:${process.pid}` };
  const driver = sandboxDrivers(home, 'inline', undefined, env);
  return sweepSandboxes({ ledger, environment, driver }, { starting: false });
}
