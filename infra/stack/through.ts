/**
 * Workers that reach a service through another port of this machine: a tunnel, or a proxy that injects faults. The
 * supervisor itself always asks the service directly, so that a broken way there is not taken for a broken service.
 */
import type { ServiceName } from './plan.js';

/** Port of 127.0.0.1 by service; what is left out is reached directly. */
export type Through = Readonly<Partial<Record<ServiceName, number>>>;

/** Variables that hold the address of a service (docs/contracts.md). */
const ADDRESSES: Readonly<Record<ServiceName, readonly string[]>> = {
  temporal: ['TEMPORAL_ADDRESS'],
  postgres: ['DATABASE_URL'],
  trainer: ['STEADFAST_TRAINER_URL'],
  endpoints: ['STEADFAST_USER_URL', 'STEADFAST_JUDGE_URL'],
};

/** The environment of a stack's process with other ports in its addresses. */
export function throughPorts(
  environment: Readonly<Record<string, string>>,
  through: Through,
): Record<string, string> {
  const changed = { ...environment };
  for (const [service, port] of Object.entries(through) as [ServiceName, number][]) {
    for (const name of ADDRESSES[service]) {
      changed[name] = (environment[name] ?? '').replace(/(127\.0\.0\.1|localhost):\d+/, `127.0.0.1:${port}`);
    }
  }
  return changed;
}
