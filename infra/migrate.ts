/**
 * Brings a database to the schema of this program. Safe when several processes start at once: they queue on an
 * advisory lock, and those who come later find nothing to do.
 */
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { UsageError } from '../core/faults.js';

const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));
const TABLE = 'migrations';
/** Oldest major version that the statements are written for. */
const OLDEST = 13;
/** Our own: node-pg-migrate's lock refuses instead of waiting. */
const LOCK = 20_260_101;

/**
 * Returns the names of the migrations that were run, oldest first. Throws `UsageError` when the database was made
 * by a newer version of this program: its rows may mean things that this one does not know.
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'steadfast-migrate' });
  await connect(client);
  try {
    await refuseOld(client);
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    await refuseNewer(client);
    const done = await runner({
      dbClient: client,
      dir: FOLDER,
      direction: 'up',
      migrationsTable: TABLE,
      noLock: true,
      // Two branches may each have added one: every migration stands on its own.
      checkOrder: false,
      singleTransaction: true,
      // Progress is the caller's to tell, from what is returned.
      log: () => undefined,
    });
    return done.map(({ name }) => name);
  } finally {
    // Ends the session, and with it the lock.
    await client.end();
  }
}

/** Names of the migrations of this program. */
export async function migrationNames(): Promise<readonly string[]> {
  return (await readdir(FOLDER)).flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -4)] : []));
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    const found = error instanceof Error ? error.message || String(error) : String(error);
    const place = `${client.host}:${client.port}, database ${client.database}`;
    throw new UsageError('database', `a PostgreSQL server that lets us in at ${place}`, found);
  }
}

async function refuseOld(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  const version = rows[0]?.server_version ?? 'unknown';
  if (Number.parseInt(version, 10) >= OLDEST) return;
  throw new UsageError('database', `PostgreSQL ${OLDEST} or newer`, `PostgreSQL ${version}`);
}

async function refuseNewer(client: pg.Client): Promise<void> {
  const table = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    TABLE,
  ]);
  if (!table.rows[0]?.found) return;
  const known = new Set(await migrationNames());
  const applied = await client.query<{ name: string }>(`SELECT name FROM ${TABLE} ORDER BY id`);
  const unknown = applied.rows.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new UsageError(
    'database',
    'a schema of this version of Steadfast or an older one',
    `migrations of a newer one (${unknown.join(', ')})`,
    'Update this checkout, or use another database',
  );
}
