/** What this machine is called in the ledger and in Temporal: sweeps end only what is of their own host. */
import os from 'node:os';
import { UsageError } from '../core/faults.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** `STEADFAST_HOST`, else the system's own name. Two machines, or two engines on one, need two names. */
export function hostName(env: NodeJS.ProcessEnv): string {
  const name = env.STEADFAST_HOST;
  if (!name) return os.hostname();
  if (NAME.test(name)) return name;
  throw new UsageError('STEADFAST_HOST', 'letters, digits, ".", "_" or "-", 63 at most', `"${name}"`);
}
