import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FAULT_KINDS } from '../../core/faults.js';
import { TRY_STATES } from '../../core/ledger-reads.js';
import { TERMINATIONS } from '../../core/outcome.js';
import { migrate } from '../../infra/migrate.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

test('processes that start at once queue up; one migrates, the others find nothing to do', async () => {
  await db.pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const names = await Promise.all([migrate(db.url), migrate(db.url), migrate(db.url)]);
  expect(names.map((done) => done.length > 0).sort()).toEqual([false, false, true]);
  expect(await migrate(db.url)).toEqual([]);
});

test('the command says what it ran, and that there is nothing to do', async () => {
  await db.pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const command = async (...args: string[]): Promise<string> => {
    const program = [fileURLToPath(new URL('../../cli/steadfast.mjs', import.meta.url)), 'ledger', 'migrate'];
    const env = { ...process.env, DATABASE_URL: db.url };
    return (await promisify(execFile)(process.execPath, [...program, ...args], { env })).stdout;
  };
  expect(await command()).toMatch(/^\d+ migrations were run\n {2}20261129000000000_ledger\n/);
  expect(await command()).toBe('the schema is up to date\n');
  expect(JSON.parse(await command('--json'))).toEqual({ migrations: [] });
});

test('a database of a newer version is refused by name', async () => {
  await db.pool.query("INSERT INTO migrations (name, run_on) VALUES ('99990101000000000_later', now())");
  await expect(migrate(db.url)).rejects.toThrow(/database: expected .* found .*99990101000000000_later/);
  await db.pool.query("DELETE FROM migrations WHERE name LIKE '9999%'");
});

test('a server that is not there is named', async () => {
  await expect(migrate('postgresql://me:secret@127.0.0.1:9/ledger')).rejects.toThrow(
    /^database: expected a PostgreSQL server that lets us in at 127\.0\.0\.1:9, database ledger, found connect ECONNREFUSED/,
  );
});

test.each(['hello', 'http://127.0.0.1:9/ledger', 'postgresql://me:secret@127.0.0.1:99999/ledger'])(
  'what is no address of a database is refused, and not repeated: %s',
  async (url) => {
    await expect(migrate(url)).rejects.toThrow(/^DATABASE_URL: expected postgresql:.*, found another form$/);
  },
);

test('a role without the rights is told which; a database that does not take a migration is named', async () => {
  // Roles are the server's, which other tests may share.
  const role = `weak_${process.pid}`;
  await db.pool.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE ROLE ${role} LOGIN PASSWORD 'weak';
    GRANT USAGE ON SCHEMA public TO ${role}`);
  const url = new URL(db.url);
  [url.username, url.password] = [role, 'weak'];
  await expect(migrate(url.href)).rejects.toThrow(
    /^database: expected the right to create tables at .*, found none in schema public\. As its owner: GRANT CREATE/,
  );
  const [newest] = (await migrate(db.url)).slice(-1);
  await expect(migrate(url.href)).rejects.toThrow(
    /^database: expected the owner of its tables, .*, found role weak_/,
  );
  await db.pool.query('DELETE FROM migrations WHERE name = $1', [newest]);
  await expect(migrate(db.url)).rejects.toThrow(
    /^database: expected one that takes the schema, at .*, found relation .* already exists/,
  );
  await db.pool.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP ROLE ${role}`);
  await migrate(db.url);
});

test('the closed sets of the schema are those of the program', async () => {
  const { rows } = await db.pool.query<{ def: string }>(
    `SELECT pg_get_constraintdef(oid) AS def FROM pg_constraint WHERE conrelid = 'tries'::regclass AND contype = 'c'`,
  );
  const allowed = (column: string): string[] => {
    const found = rows.find(({ def }) => new RegExp(`^CHECK \\(\\(${column} = ANY \\(ARRAY`).test(def));
    return [...(found?.def.matchAll(/'(\w+)'::text/g) ?? [])].map(([, word]) => word as string).sort();
  };
  expect(allowed('fault_kind')).toEqual(Object.keys(FAULT_KINDS).sort());
  expect(allowed('termination')).toEqual(Object.keys(TERMINATIONS).sort());
  expect(allowed('state')).toEqual(Object.keys(TRY_STATES).sort());
});

test('every table is described', async () => {
  const { rows } = await db.pool.query<{ relname: string }>(
    `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
      AND obj_description(oid) IS NULL`,
  );
  expect(rows.map(({ relname }) => relname)).toEqual(['migrations']);
});
