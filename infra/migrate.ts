/**
 * Brings a database to the schema of this program. Safe when several processes start at once: they queue on an
 * advisory lock, and those who come later find nothing to do.
 */
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { UsageError } from '../core/faults.js';

const CONNECT_TIMEOUT_MS = 30_000;
const FOLDER = fileURLToPath(new URL('migrations', import.meta.url));
const TABLE = 'migrations';
/** Oldest major version that the statements are written for. */
const OLDEST = 13;
/** Our own: node-pg-migrate's lock refuses instead of waiting. */
const LOCK = 20_260_101;

/**
 * Returns the names of the migrations that were run, oldest first. Throws `UsageError` for a database that cannot be
 * brought there: no address of one, nobody there, no rights, or made by a newer version of this program, so that its
 * rows may mean things that this one does not know.
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const client = clientOf(databaseUrl);
  await connect(client);
  try {
    await refuseOld(client);
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    await requireRights(client);
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
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    throw new UsageError('database', `one that takes the schema, at ${placeOf(client)}`, error.message);
  } finally {
    // Ends the session, and with it the lock.
    await client.end();
  }
}

/** Names of the migrations of this program. */
export async function migrationNames(): Promise<readonly string[]> {
  return (await readdir(FOLDER)).flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -4)] : []));
}

/** The address may hold a password: it is not repeated. */
function clientOf(databaseUrl: string): pg.Client {
  const refusal = new UsageError(
    'DATABASE_URL',
    'postgresql://user:password@host:port/database',
    'another form',
  );
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) throw refusal;
  try {
    return new pg.Client({
      connectionString: databaseUrl,
      application_name: 'steadfast-migrate',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
  } catch {
    throw refusal;
  }
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    const found = error instanceof Error ? error.message || String(error) : String(error);
    throw new UsageError('database', `a PostgreSQL server that lets us in at ${placeOf(client)}`, found);
  }
}

function placeOf({ host, port, database }: pg.Client): string {
  return `${host}:${port}, database ${database}`;
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

/** Tables are changed by their owner alone; a first one needs a schema to lie in. */
async function requireRights(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ schema: string | null; may: boolean | null; owner: string | null }>(
    `SELECT current_schema() AS schema, to_regclass($1) IS NOT NULL OR has_schema_privilege(current_schema(), 'CREATE') AS may,
      (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass($1) AND NOT pg_has_role(relowner, 'USAGE')) AS owner`,
    [TABLE],
  );
  const { schema = null, may, owner = null } = rows[0] ?? {};
  const place = placeOf(client);
  if (owner !== null) {
    throw new UsageError('database', `the owner of its tables, ${owner}, at ${place}`, `role ${client.user}`);
  }
  if (may) return;
  const fix = `As its owner: GRANT CREATE ON SCHEMA ${schema} TO "${client.user}"`;
  throw new UsageError(
    'database',
    `the right to create tables at ${place}`,
    schema === null ? 'no schema that may be used' : `none in schema ${schema}`,
    schema === null ? undefined : fix,
  );
}
