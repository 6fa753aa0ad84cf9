/** What the worker of a GPU host is told by its environment: less than other workers need. */
import os from 'node:os';
import { requireHostName } from '../core/cluster.js';
import { UsageError } from '../core/faults.js';
import type { TemporalAccess } from '../infra/temporal-access.js';
import { drainOf, metricsAddressOf, temporalOf } from './environment.js';
import { type ServingEnvironment, servingEnvironment } from './serving-environment.js';

export interface HostEnvironment {
  readonly temporalAddress: string;
  readonly temporalAccess: TemporalAccess;
  readonly namespace: string;
  readonly home: string;
  /** Where metrics are read, `host:port`; absent: nowhere. */
  readonly metricsAddress?: string;
  /** Grace after SIGTERM; absent: the usual. */
  readonly drainMs?: number;
  /** Name of the host in run files: `STEADFAST_GPU_HOST`, else the machine's own. */
  readonly gpuHost: string;
  readonly identity: string;
  /** Null: it is not told of the ledger, so it serves nothing. */
  readonly serving: ServingEnvironment | null;
}

/** Reads `process.env`. Throws one `UsageError` that lists every variable that is missing. */
export function hostEnvironment(env: NodeJS.ProcessEnv = process.env): HostEnvironment {
  const temporal = temporalOf(env);
  const { STEADFAST_HOME = '' } = env;
  const TEMPORAL_ADDRESS = temporal.address ?? '';
  const missing = Object.entries({ TEMPORAL_ADDRESS, STEADFAST_HOME }).flatMap(([name, value]) =>
    value === '' ? [name] : [],
  );
  if (missing.length > 0) {
    const expected = 'TEMPORAL_ADDRESS and STEADFAST_HOME';
    throw new UsageError(
      'environment of the worker',
      expected,
      `no ${missing.join(', ')}`,
      'See docs/workers.md.',
    );
  }
  const metricsAddress = metricsAddressOf(env);
  const drainMs = drainOf(env);
  return {
    ...(metricsAddress === undefined ? {} : { metricsAddress }),
    ...(drainMs === undefined ? {} : { drainMs }),
    temporalAddress: TEMPORAL_ADDRESS,
    temporalAccess: temporal.access,
    namespace: temporal.namespace || 'default',
    home: STEADFAST_HOME,
    gpuHost: requireHostName('STEADFAST_GPU_HOST', env.STEADFAST_GPU_HOST || os.hostname()),
    identity: `${os.hostname()}:${process.pid}`,
    serving: servingEnvironment(STEADFAST_HOME, env),
  };
}
