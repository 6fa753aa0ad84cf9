/**
 * What a verb talks to: the ledger, the artifacts, Temporal. Addresses come from the environment when it names both
 * Temporal and a database (workers elsewhere), else from the running local stack. Everything is opened on first use.
 */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { ArtifactStore } from '../core/artifacts.js';
import { UsageError } from '../core/faults.js';
import type { Ledger } from '../core/ledger.js';
import type { LedgerReads } from '../core/ledger-reads.js';
import type { Rates } from '../core/limits/rates.js';
import type { Schedules } from '../core/nightly/schedule.js';
import type { GpuHosts } from '../core/serving/gpu-hosts.js';
import type { Servings } from '../core/serving/servings.js';
import { homeFolder } from '../infra/setup/root.mjs';
import { readStack, type StackInfo } from '../infra/stack/info.js';
import type { TemporalPlace } from '../infra/temporal-access.js';
import { NAMESPACE } from '../temporal.config.js';

export interface StackContext {
  readonly info: StackInfo;
  ledger(): Promise<Ledger & LedgerReads>;
  artifacts(): Promise<ArtifactStore>;
  /** Limits of providers. */
  rates(): Promise<Rates>;
  /** Evaluations by schedule, and their nights. */
  schedules(): Promise<Schedules>;
  /** Weights on GPU hosts. */
  servings(): Promise<Servings>;
  /** Who has which GPU host. */
  gpuHosts(): Promise<GpuHosts>;
  temporal(): Promise<Client>;
  /** Ends every connection that was opened. Idempotent. */
  close(): Promise<void>;
}

/** Throws `UsageError` when there is no stack, saying how to start one. */
export function openStack(info: StackInfo = requireStackInfo()): StackContext {
  const closing: (() => Promise<void>)[] = [];
  const once = <T>(open: () => Promise<T>): (() => Promise<T>) => {
    let opened: Promise<T> | undefined;
    return () => {
      opened ??= open();
      return opened;
    };
  };
  const pool = once(async () => {
    const { createPool } = await import('../activities/ledger/pool.js');
    const opened = createPool(info.databaseUrl, { applicationName: 'steadfast', max: 3 });
    closing.push(() => opened.end());
    return opened;
  });
  return {
    info,
    ledger: once(async () => {
      const { createPgLedger } = await import('../activities/ledger/postgres.js');
      return createPgLedger(await pool(), { waitMs: 5_000 });
    }),
    rates: once(async () => {
      const { createPgRates } = await import('../activities/ledger/rates.js');
      return createPgRates(await pool());
    }),
    schedules: once(async () => {
      const { createPgSchedules } = await import('../activities/ledger/schedules.js');
      return createPgSchedules(await pool());
    }),
    servings: once(async () => {
      const { createPgServings } = await import('../activities/ledger/servings.js');
      return createPgServings(await pool());
    }),
    gpuHosts: once(async () => {
      const { createPgGpuHosts } = await import('../activities/ledger/gpu-hosts.js');
      return createPgGpuHosts(await pool());
    }),
    artifacts: once(async () => {
      const { createLocalArtifacts } = await import('../activities/artifacts/local.js');
      return createLocalArtifacts(info.artifacts);
    }),
    temporal: once(async () => {
      const { Client, Connection } = await import('@temporalio/client');
      const { temporalPlace } = await import('../infra/temporal-access.js');
      // The local stack is reached by its own address, whatever the shell says of another.
      const { access, ...place } = info.processes.length > 0 ? LOCAL : temporalPlace(process.env);
      const { address = info.temporal.address, namespace = info.temporal.namespace } = place;
      const connecting = Connection.connect({ ...access, address, connectTimeout: '10s' });
      const connection = await connecting.catch(async (error: unknown) => {
        const { refusedBy, refusedCertificate, tlsProblem } = await import('../infra/temporal-refusal.js');
        const problem = await tlsProblem(address, access?.tls ?? undefined);
        if (problem !== undefined) throw refusedCertificate(address, problem);
        throw refusedBy(address, error) ?? error;
      });
      closing.push(() => connection.close());
      return new Client({ connection, namespace });
    }),
    async close() {
      for (const end of closing.splice(0)) await end();
    },
  };
}

/** Runs `work` with an open context and closes it on every path. */
export async function withStack<T>(work: (context: StackContext) => Promise<T>): Promise<T> {
  const context = openStack();
  try {
    return await work(context);
  } finally {
    await context.close();
  }
}

const LOCAL: Partial<TemporalPlace> = {};

/** Is there one to be asked, as `openStack` finds it? */
export function isStackKnown(): boolean {
  return (fromEnvironment(process.env) ?? readStack()) !== undefined;
}

function requireStackInfo(): StackInfo {
  const info = fromEnvironment(process.env) ?? readStack();
  if (info) return info;
  throw new UsageError('local stack', 'a running one', 'none', 'Start it with: steadfast up');
}

function fromEnvironment(env: NodeJS.ProcessEnv): StackInfo | undefined {
  const named = env.TEMPORAL_ADDRESS || env.TEMPORAL_PROFILE || env.TEMPORAL_CONFIG_FILE;
  if (!named || !env.DATABASE_URL) return undefined;
  const home = homeFolder();
  return {
    temporal: {
      address: env.TEMPORAL_ADDRESS ?? '',
      namespace: env.TEMPORAL_NAMESPACE || NAMESPACE,
      ui: env.TEMPORAL_UI || '',
    },
    databaseUrl: env.DATABASE_URL,
    trainerUrl: env.STEADFAST_TRAINER_URL ?? '',
    userUrl: env.STEADFAST_USER_URL ?? '',
    judgeUrl: env.STEADFAST_JUDGE_URL ?? '',
    artifacts: env.STEADFAST_ARTIFACTS || join(home, 'artifacts'),
    home,
    processes: [],
  };
}
