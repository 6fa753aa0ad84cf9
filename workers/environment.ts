/** What a worker process is told by its environment; the local stack sets it, a deployment does the same. */
import { isIP } from 'node:net';
import path from 'node:path';
import { UsageError } from '../core/faults.js';
import { ISOLATIONS, type Isolation } from '../core/sandbox.js';
import { requirePoolName } from '../core/sharing.js';
import { hostName } from '../infra/host-name.js';
import { STACK_MARK } from '../infra/stack/service.js';
import { type TemporalAccess, type TemporalPlace, temporalPlace } from '../infra/temporal-access.js';
import { NAMESPACE, WARM } from '../temporal.config.js';
import { type SlotsAsked, slotsAsked } from './slots.js';

/** A chat endpoint: its OpenAI base URL, the model's name, and the variable that holds the key, if it needs one. */
export interface ChatEndpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKeyEnv: string | null;
}

export interface WorkerEnvironment {
  readonly temporalAddress: string;
  readonly namespace: string;
  /** Certificates and keys; none for the local stack. */
  readonly temporalAccess?: TemporalAccess;
  readonly databaseUrl: string;
  readonly home: string;
  readonly artifacts: string;
  readonly trainerUrl: string;
  readonly user: ChatEndpoint;
  readonly judge: ChatEndpoint;
  /** The least isolation that a sandbox has here, whatever its suite needs. */
  readonly isolation: Isolation;
  /** Host name and process id: who ran a try. */
  readonly identity: string;
  readonly host: string;
  /** Pool of a sandbox worker; null: the one without a name. */
  readonly pool: string | null;
  readonly slots: SlotsAsked;
  /** Most containers that are started ahead; undefined: worked out. */
  readonly warm: number | undefined;
  /** Sandbox workers that share this machine. */
  readonly workersHere: number;
  /** Where metrics are read, `host:port`; absent: nowhere. */
  readonly metricsAddress?: string;
  /** Grace after SIGTERM; absent: the usual. */
  readonly drainMs?: number;
}

/** Reads `process.env`. Throws one `UsageError` that lists every variable that is missing. */
export function workerEnvironment(env: NodeJS.ProcessEnv = process.env): WorkerEnvironment {
  const missing: string[] = [];
  const need = (name: string): string => {
    const value = env[name];
    if (!value) missing.push(name);
    return value ?? '';
  };
  /** A real model takes the place of the built-in rules by these three variables alone. */
  const chat = (role: 'USER' | 'JUDGE'): ChatEndpoint => ({
    baseUrl: need(`STEADFAST_${role}_URL`),
    model: env[`STEADFAST_${role}_MODEL`] || 'rules',
    apiKeyEnv: env[`STEADFAST_${role}_KEY_ENV`] || null,
  });
  const home = need('STEADFAST_HOME');
  const host = hostName(env);
  const drainMs = drainOf(env);
  const metricsAddress = metricsAddressOf(env);
  const temporal = temporalOf(env);
  if (!temporal.address) missing.push('TEMPORAL_ADDRESS');
  const environment: WorkerEnvironment = {
    temporalAddress: temporal.address ?? '',
    namespace: temporal.namespace ?? NAMESPACE,
    temporalAccess: temporal.access,
    databaseUrl: need('DATABASE_URL'),
    home,
    artifacts: env.STEADFAST_ARTIFACTS || path.join(home, 'artifacts'),
    trainerUrl: need('STEADFAST_TRAINER_URL'),
    user: chat('USER'),
    judge: chat('JUDGE'),
    isolation: isolationOf(env.STEADFAST_ISOLATION),
    identity: `${host}:${process.pid}`,
    host,
    pool: env.STEADFAST_POOL ? requirePoolName('STEADFAST_POOL', env.STEADFAST_POOL) : null,
    slots: slotsAsked(env.STEADFAST_SLOTS),
    warm: wholeNumber('STEADFAST_WARM', env.STEADFAST_WARM, 0, WARM.mostAsked),
    workersHere: wholeNumber('STEADFAST_WORKERS_HERE', env.STEADFAST_WORKERS_HERE, 1, 64) ?? 1,
    ...(metricsAddress === undefined ? {} : { metricsAddress }),
    ...(drainMs === undefined ? {} : { drainMs }),
  };
  if (missing.length === 0) return environment;
  throw new UsageError(
    'environment of the worker',
    'TEMPORAL_ADDRESS, DATABASE_URL, STEADFAST_HOME and the three endpoint URLs',
    `no ${missing.join(', ')}`,
    '`steadfast up` sets them for the local stack; docs/workers.md says how to run workers elsewhere.',
  );
}

function wholeNumber(
  name: string,
  text: string | undefined,
  least: number,
  most: number,
): number | undefined {
  if (!text) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new UsageError(name, `a whole number from ${least} to ${most}`, `"${text}"`);
}

/** Grace after SIGTERM, ms. */
export function drainOf(env: NodeJS.ProcessEnv): number | undefined {
  const seconds = wholeNumber('STEADFAST_DRAIN_SECONDS', env.STEADFAST_DRAIN_SECONDS, 0, 86_400);
  return seconds === undefined ? undefined : 1_000 * seconds;
}

/** A worker of the local stack is told an address; what the shell says of another Temporal is not for it. */
export function temporalOf(env: NodeJS.ProcessEnv): TemporalPlace {
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = env;
  return temporalPlace(env[STACK_MARK] ? { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } : env);
}

/** Several workers of the local stack would meet at one address, so none of them takes it. */
export function metricsAddressOf(env: NodeJS.ProcessEnv): string | undefined {
  const text = env.STEADFAST_METRICS_ADDRESS;
  if (!text || env[STACK_MARK]) return undefined;
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0 && Number(port) >= 1 && Number(port) <= 65_535) return text;
  throw new UsageError('STEADFAST_METRICS_ADDRESS', 'an IP address and a port (0.0.0.0:9464)', `"${text}"`);
}

/** Throws `UsageError` for a word that is none. */
export function isolationOf(text: string | undefined): Isolation {
  const isolation = ISOLATIONS.find((name) => name === (text || 'inline'));
  if (isolation) return isolation;
  throw new UsageError('STEADFAST_ISOLATION', ISOLATIONS.join(', '), `"${text}"`);
}
