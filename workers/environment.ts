/** What a worker process is told by its environment; the local stack sets it, a deployment does the same. */
import os from 'node:os';
import path from 'node:path';
import { UsageError } from '../core/faults.js';

export interface WorkerEnvironment {
  readonly temporalAddress: string;
  readonly namespace: string;
  readonly databaseUrl: string;
  readonly home: string;
  readonly artifacts: string;
  readonly trainerUrl: string;
  readonly userUrl: string;
  readonly judgeUrl: string;
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
  const home = need('STEADFAST_HOME');
  const environment: WorkerEnvironment = {
    temporalAddress: need('TEMPORAL_ADDRESS'),
    namespace: env.TEMPORAL_NAMESPACE || 'default',
    databaseUrl: need('DATABASE_URL'),
    home,
    artifacts: env.STEADFAST_ARTIFACTS || path.join(home, 'artifacts'),
    trainerUrl: need('STEADFAST_TRAINER_URL'),
    userUrl: need('STEADFAST_USER_URL'),
    judgeUrl: need('STEADFAST_JUDGE_URL'),
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
