/** What a restart, a crash and an absence of the database cost: nothing, nothing, and a clear error. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { createPgLedger } from '../../activities/ledger/postgres.js';
import { migrate } from '../../infra/migrate.js';
import { freePort } from '../../infra/stack/free-port.js';
import { type RunningPostgres, startPostgres } from '../../infra/stack/postgres.js';
import { begin, claim, clean, planned } from './fixtures.js';

let folder: string;
let port: number;
let server: RunningPostgres;
const start = () =>
  startPostgres({ dataDir: join(folder, 'the data'), port, logFile: join(folder, 'pg.log') });

beforeAll(async () => {
  // Mode 0700: as root, the server gets through a folder that is closed to the user it runs as.
  folder = await mkdtemp(join(tmpdir(), 'steadfast outage '));
  port = await freePort();
  server = await start();
  await migrate(server.url);
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a started server is adopted, and a stopped one is started again with its rows', async () => {
  const adopted = await start();
  expect(adopted).toMatchObject({ adopted: true, pid: server.pid, url: server.url });
  await adopted.stop();
  await server.stop();
  server = await start();
  expect(server.adopted).toBe(false);
  expect(await migrate(server.url)).toEqual([]);
});

test('a finish in the middle of kill -9 and recovery is recorded, once', async () => {
  const pool = createPool(server.url);
  const ledger = createPgLedger(pool);
  await ledger.claimCampaign(claim('eval/crash'));
  const attempts = Array.from({ length: 20 }, (_, slot) => planned('eval/crash', 't:1', String(slot)));
  await ledger.planAttempts('eval/crash', attempts);
  await Promise.all(attempts.map(({ key }) => ledger.beginTry(begin(key))));

  process.kill(server.pid, 'SIGKILL');
  const finishes = attempts.map(({ key }) => ledger.finishTry(clean(key)));
  server = await start();
  expect(new Set(await Promise.all(finishes))).toEqual(new Set(['recorded']));
  expect(await ledger.counts('eval/crash')).toMatchObject({ planned: 20, clean: 20, passed: 20 });
  await pool.end();
});

test('what was answered before a crash is there after it', async () => {
  const pool = createPool(server.url);
  const ledger = createPgLedger(pool);
  const { key } = planned('eval/kept', 't:1', '0');
  await ledger.claimCampaign(claim('eval/kept'));
  await ledger.planAttempts('eval/kept', [planned('eval/kept', 't:1', '0')]);
  await ledger.beginTry(begin(key));
  await ledger.finishTry(clean(key));
  process.kill(server.pid, 'SIGKILL');
  server = await start();
  expect(await ledger.cleanSummary(key)).toMatchObject({ outcome: 'passed' });
  await pool.end();
});

test('a database that is not there is one clear error, worth another try', async () => {
  const nobody = createPool(`postgresql://x:y@127.0.0.1:${await freePort()}/z`);
  const ledger = createPgLedger(nobody, { waitMs: 200 });
  const answer = ledger.counts('eval/x');
  await expect(answer).rejects.toMatchObject({ kind: 'ledger', code: 'unreachable', retry: true });
  await expect(answer).rejects.toThrow(/^counts: the database does not answer: .*ECONNREFUSED/);
  await nobody.end();
});

test('a wrong password and a missing schema are errors that no retry can help', async () => {
  const url = new URL(server.url);
  url.password = 'wrong';
  const refused = createPool(url.toString());
  await expect(createPgLedger(refused).counts('x')).rejects.toMatchObject({ code: 'refused', retry: false });
  await refused.end();
  url.href = server.url;
  url.pathname = '/postgres';
  const empty = createPool(url.toString());
  await expect(createPgLedger(empty).counts('x')).rejects.toMatchObject({ code: 'schema', retry: false });
  await empty.end();
});

test('a stranger with the process id of a dead server does not keep it from starting', async () => {
  const pidFile = join(folder, 'the data', 'postmaster.pid');
  const lines = (await readFile(pidFile, 'utf8')).split('\n');
  process.kill(server.pid, 'SIGKILL');
  await expect.poll(() => isAlive(server.pid)).toBe(false);
  await writeFile(pidFile, [String(process.pid), ...lines.slice(1)].join('\n'));
  server = await start();
  expect(server.adopted).toBe(false);
});

// Seen in CI: around an exec the command line reads as empty, and the server was taken for one that had ended.
test.runIf(process.getuid?.() === 0)(
  'a server is waited for while its command line says nothing',
  async () => {
    await server.stop();
    const path = process.env.PATH ?? '';
    const real = path.split(':').map((part) => join(part, 'setpriv'));
    const hidden = join(folder, 'hidden.sh');
    await writeFile(
      join(folder, 'setpriv'),
      `#!/bin/sh
printf 'sleep 0.5\nexec ${real.find((file) => existsSync(file))}' > '${hidden}'
for word; do printf " '%s'" "$word" >> '${hidden}'; done
exec sh '${hidden}'
`,
      { mode: 0o755 },
    );
    process.env.PATH = `${folder}:${path}`;
    server = await start().finally(() => {
      process.env.PATH = path;
    });
    expect(await migrate(server.url)).toEqual([]);
  },
);

test('a taken port is named, and the data is none the worse for it', async () => {
  await server.stop();
  const squatter = createServer().listen(port, '127.0.0.1');
  await once(squatter, 'listening');
  await expect(start()).rejects.toThrow(`PostgreSQL port: expected a free port on 127.0.0.1, found ${port}`);
  await new Promise((done) => squatter.close(done));
  server = await start();
});

test('a data folder of another major version is refused', async () => {
  const versionFile = join(folder, 'the data', 'PG_VERSION');
  const version = await readFile(versionFile, 'utf8');
  await writeFile(versionFile, '9\n');
  await expect(start()).rejects.toThrow(
    /expected a data folder of PostgreSQL \d+, found one of PostgreSQL 9/,
  );
  await writeFile(versionFile, version);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
