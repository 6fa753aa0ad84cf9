/** The ledger in PostgreSQL. The schema is `infra/migrations`; run `migrate` before the first call. */
import type pg from 'pg';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { attemptWrites } from './attempts.js';
import { campaignWrites } from './campaigns.js';
import { checkpointWrites } from './checkpoints.js';
import { createDatabase } from './database.js';
import { operationWrites } from './operations.js';
import { overviewReads } from './overview.js';
import { attemptReads } from './reads.js';
import { sandboxWrites } from './sandboxes.js';
import { stepWrites } from './steps.js';
import { tryWrites } from './tries.js';

export interface PgLedgerOptions {
  /**
   * How long a call goes on trying while the database does not answer, milliseconds. Too low: a restart of PostgreSQL
   * fails every episode that ends in that moment. Too high: a command line waits for a database that is not there.
   */
  readonly waitMs?: number;
}

const WAIT_MS = 30_000;

/** Uses the pool and does not end it. */
export function createPgLedger(pool: pg.Pool, options: PgLedgerOptions = {}): Ledger & LedgerReads {
  const database = createDatabase(pool, options.waitMs ?? WAIT_MS);
  return {
    ...campaignWrites(database),
    ...attemptWrites(database),
    ...tryWrites(database),
    ...sandboxWrites(database),
    ...stepWrites(database),
    ...operationWrites(database),
    ...checkpointWrites(database),
    ...attemptReads(database),
    ...overviewReads(database),
  };
}
