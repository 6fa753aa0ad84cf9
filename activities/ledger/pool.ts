/** The connection pool of one process. */
import pg from 'pg';
import { registerPassword } from '../../core/secrets.js';

/** Sessions of one process. Statements are short; more sessions than this only queue inside the server. */
const MAX_SESSIONS = 8;
/** A statement that takes longer is not slow but stuck, e.g. behind a lock that somebody holds. */
const STATEMENT_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

export interface PoolOptions {
  /** Shown in `pg_stat_activity`, e.g. `steadfast sandbox worker`. */
  readonly applicationName?: string;
  readonly max?: number;
}

/** Opens no connection yet. End it with `pool.end()`. */
export function createPool(databaseUrl: string, options: PoolOptions = {}): pg.Pool {
  registerPassword(databaseUrl);
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: options.applicationName ?? 'steadfast',
    max: options.max ?? MAX_SESSIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    // The server's own limit should speak first; this one is for a server that is frozen.
    query_timeout: STATEMENT_TIMEOUT_MS + 10_000,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
  });
  // An idle session that the server has ended is replaced at the next use; without a listener it would end us.
  pool.on('error', () => undefined);
  return pool;
}
