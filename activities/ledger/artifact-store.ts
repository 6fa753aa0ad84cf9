/** What a worker asks a ledger before it takes work: its schema, and which artifact store belongs to it (one row, of the worker that came first). */
import type pg from 'pg';
import { createDatabase } from './database.js';

export interface StoreClaim {
  readonly id: string;
  readonly host: string;
  readonly folder: string;
}

const READ = { name: 'artifact store', text: 'SELECT id, host, folder FROM artifact_store' };
const CLAIM = {
  name: 'claim artifact store',
  text: 'INSERT INTO artifact_store (id, host, folder) VALUES ($1, $2, $3) ON CONFLICT (sole) DO NOTHING',
};
const NEWEST = {
  name: 'newest trajectories',
  text: 'SELECT trajectory FROM tries WHERE trajectory IS NOT NULL ORDER BY id DESC LIMIT 3',
};
const MIGRATED = { name: 'schema', text: `SELECT to_regclass('migrations') IS NOT NULL AS found` };
const MIGRATIONS = { name: 'migrations', text: 'SELECT name FROM migrations ORDER BY id' };

/** A worker that starts waits so long for a database that starts as well. */
const WAIT_MS = 30_000;

export interface StoreClaims {
  /** Names of those that the database has seen; none without a schema of ours. */
  migrations(): Promise<readonly string[]>;
  current(): Promise<StoreClaim | undefined>;
  /** Unless one is there already; that which is there afterwards. */
  claim(claim: StoreClaim): Promise<StoreClaim>;
  /** Digests of the last artifacts that were recorded; none in a new ledger. */
  newest(): Promise<readonly string[]>;
}

/** Calls throw `Fault('ledger')`. */
export function createStoreClaims(pool: pg.Pool): StoreClaims {
  const database = createDatabase(pool, WAIT_MS);
  const current = async () => (await database.run<{ id: string; host: string; folder: string }>(READ))[0];
  return {
    async migrations() {
      if (!(await database.run<{ found: boolean }>(MIGRATED))[0]?.found) return [];
      return (await database.run<{ name: string }>(MIGRATIONS)).map(({ name }) => name);
    },
    current,
    async claim(claim) {
      await database.run(CLAIM, [claim.id, claim.host, claim.folder]);
      return (await current()) ?? claim;
    },
    async newest() {
      return (await database.run<{ trajectory: string }>(NEWEST)).map(({ trajectory }) => trajectory);
    },
  };
}
