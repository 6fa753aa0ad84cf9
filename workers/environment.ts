/** What a worker process is told by its environment; the local stack sets it, a deployment does the same. */
import os from 'node:os';
import path from 'node:path';
import { UsageError } from '../core/faults.js';
import { ISOLATIONS, type Isolation } from '../core/sandbox.js';

/** A chat endpoint: its OpenAI base URL, the model's name, and the variable that holds the key, if it needs one. */
export interface ChatEndpoint {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKeyEnv: string | null;
}

export interface WorkerEnvironment {
  readonly temporalAddress: string;
  readonly namespace: string;
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
  const environment: WorkerEnvironment = {
    temporalAddress: need('TEMPORAL_ADDRESS'),
    namespace: env.TEMPORAL_NAMESPACE || 'default',
    databaseUrl: need('DATABASE_URL'),
    home,
    artifacts: env.STEADFAST_ARTIFACTS || path.join(home, 'artifacts'),
    trainerUrl: need('STEADFAST_TRAINER_URL'),
    user: chat('USER'),
    judge: chat('JUDGE'),
    isolation: isolationOf(env.STEADFAST_ISOLATION),
    identity: `${os.hostname()}:${process.pid}`,
    host: os.hostname(),
  };
  if (missing.length === 0) return environment;
  throw new UsageError(
    'environment of the worker',
    'TEMPORAL_ADDRESS, DATABASE_URL, STEADFAST_HOME and the three endpoint URLs',
    `no ${missing.join(', ')}`,
    '`steadfast up` sets them for the local stack; docs/workers.md says how to run workers elsewhere.',
  );
}

/** Throws `UsageError` for a word that is none. */
export function isolationOf(text: string | undefined): Isolation {
  const isolation = ISOLATIONS.find((name) => name === (text || 'inline'));
  if (isolation) return isolation;
  throw new UsageError('STEADFAST_ISOLATION', ISOLATIONS.join(', '), `"${text}"`);
}
