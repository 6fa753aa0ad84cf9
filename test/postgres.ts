/**
 * A real PostgreSQL for tests: the server of `DATABASE_URL` when one is given, else one of our own that all files of a
 * run share (shared-postgres.ts). Every call makes a database of its own, with the schema.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger, type PgLedgerOptions } from '../activities/ledger/postgres.js';
import type { Ledger } from '../core/ledger.js';
import type { LedgerReads } from '../core/ledger-reads.js';
import { migrate } from '../infra/migrate.js';
import { freePort } from '../infra/stack/free-port.js';
import { type RunningPostgres, startPostgres } from '../infra/stack/postgres.js';

/** Environment variable with the folder of the run's server; set by shared-postgres.ts. */
export const SERVER_FOLDER = 'STEADFAST_TEST_POSTGRES';

export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly ledger: Ledger & LedgerReads;
  /** Ends the pool and drops the database. */
  stop(): Promise<void>;
}

/** Starts or adopts the server of a folder. Without fsync: test data need not survive a power cut. */
export async function startTestServer(folder: string): Promise<RunningPostgres> {
  return startPostgres({
    dataDir: join(folder, 'pg'),
    port: await freePort(),
    logFile: join(folder, 'pg.log'),
    durable: false,
  });
}

export async function startTestDatabase(options: PgLedgerOptions = {}): Promise<TestDatabase> {
  const admin = process.env.DATABASE_URL ?? (await startTestServer(sharedFolder())).url;
  const name = `steadfast_test_${randomBytes(6).toString('hex')}`;
  await runOnce(admin, `CREATE DATABASE ${name}`);
  const address = new URL(admin);
  address.pathname = `/${name}`;
  const url = address.toString();
  await migrate(url);
  const pool = createPool(url, { applicationName: 'steadfast test' });
  return {
    url,
    pool,
    ledger: createPgLedger(pool, options),
    async stop() {
      await pool.end();
      await runOnce(admin, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

function sharedFolder(): string {
  const folder = process.env[SERVER_FOLDER];
  if (folder) return folder;
  throw new Error(`${SERVER_FOLDER} is not set: is test/shared-postgres.ts in vitest's globalSetup?`);
}

async function runOnce(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
