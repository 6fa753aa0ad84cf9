/** The ledger's database: a PostgreSQL of our own, or the one that `DATABASE_URL` names. */
import { join } from 'node:path';
import pg from 'pg';
import { UsageError } from '../../core/faults.js';
import { migrate } from '../migrate.js';
import { startedAt } from '../setup/process.mjs';
import { logFile } from './info.js';
import type { Ports } from './ports.js';
import { startPostgres } from './postgres.js';
import type { Service } from './service.js';

/** The database of somebody else, or undefined: we run our own. */
export function externalDatabase(): string | undefined {
  return process.env.DATABASE_URL || undefined;
}

export interface PostgresServiceOptions {
  readonly home: string;
  readonly ports: Ports;
  /** Called with the connection string each time the server has been started or adopted. */
  readonly found: (url: string) => void;
}

export function postgresService({ home, ports, found }: PostgresServiceOptions): Service {
  const log = logFile(home, 'postgres');
  let url = '';
  return {
    name: 'postgres',
    needs: [],
    ports: ['postgres'],
    log,
    adopts: true,
    // SIGINT: fast shutdown, open sessions are ended. After SIGKILL the next start recovers from the log.
    stop: { signal: 'SIGINT', graceMs: 2_500, order: 2 },
    startLimitMs: 60_000,
    fingerprint: () => 'postgres',
    async start() {
      const running = await startPostgres({ dataDir: join(home, 'pg'), port: ports.postgres, logFile: log });
      url = running.url;
      // An adopted server keeps the port it was started on.
      ports.postgres = Number(new URL(url).port);
      found(url);
      return { pid: running.pid, started: startedAt(running.pid) ?? 'ended' };
    },
    healthy: () => canQuery(url),
    async settle() {
      await migrate(url);
    },
  };
}

/** True when the database answers a query within five seconds. */
async function canQuery(url: string): Promise<boolean> {
  const client = connection(url);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    // Starting, stopping, full: not now.
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Throws `UsageError` unless the database of `DATABASE_URL` can be used; brings it to our schema. */
export async function prepareExternalDatabase(url: string): Promise<void> {
  const client = connection(url);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } catch (error) {
    throw new UsageError(
      'DATABASE_URL',
      'a PostgreSQL database that answers',
      error instanceof Error ? error.message || String((error as { code?: string }).code) : String(error),
      'Start that server, correct the address, or unset DATABASE_URL: then Steadfast runs its own',
    );
  } finally {
    await client.end().catch(() => undefined);
  }
  await migrate(url);
}

function connection(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    application_name: 'steadfast-supervisor',
  });
  // A server in shutdown cuts the line after the error that the query already reports.
  client.on('error', () => undefined);
  return client;
}
