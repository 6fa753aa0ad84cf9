/** Containers that are started ahead, with a real engine and a real ledger. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verifySandboxes } from '../../../activities/ledger/verify-sandboxes.js';
import type { WarmSettings } from '../../../activities/sandbox/warm/pool.js';
import type { Sandbox, SandboxDriver, ServerSpec } from '../../../core/sandbox.js';
import { ROOT } from '../../../infra/setup/root.mjs';
import { sweepSandboxes, workerIsAlive } from '../../../workers/sweep.js';
import { begin, claim, planned } from '../../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../../postgres.js';
import { guestsOrWhy, type HostileGuests } from './guests.js';

const found = await guestsOrWhy();
if ('why' in found) process.stderr.write(`docker tests are skipped: ${found.why}\n`);
const engine = 'why' in found ? undefined : found.engine;
const local = process.platform === 'linux' && !/^(tcp|https?|ssh):/.test(engine?.settings.host ?? '');

const CAMPAIGN = 'eval/warm';
const HOST = `warm-${process.pid}`;
const SELF = `${HOST}:${process.pid}`;
const HOUR_MS = 3_600_000;
const LIMIT_MS = 30_000;
const never = new AbortController().signal;

interface EpisodeOptions {
  readonly servers?: readonly ServerSpec[];
  readonly between?: (name: string) => Promise<unknown>;
}

describe.skipIf(!engine)('started ahead', () => {
  let given: HostileGuests;
  let db: TestDatabase;
  let slot = 0;
  const drivers: SandboxDriver[] = [];
  const left: string[] = [];

  beforeAll(async () => {
    if ('guests' in found) given = found.guests;
    db = await startTestDatabase();
    await db.ledger.claimCampaign(claim(CAMPAIGN));
  });
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close?.()));
    await Promise.all(
      left.splice(0).map(async (name) => {
        await given.driver.reap(name);
        await db.ledger.sandboxEnded(name, 'reaped');
      }),
    );
    expect(await names()).toEqual([]);
    const { problems, known, released, reaped } = await verify();
    expect([problems, known]).toEqual([[], released + reaped]);
  });
  afterAll(async () => {
    try {
      await db.stop();
    } finally {
      await given.end();
      await engine!.stop();
    }
  });

  function ahead(change: Partial<WarmSettings> = {}, host = engine!.settings.host): SandboxDriver {
    const settings: WarmSettings = {
      ...{ ledger: db.ledger, host: HOST, worker: SELF, most: 3, atOnce: 4 },
      leftBehind: ({ name }) => void left.push(name),
      say: () => undefined,
      ...change,
    };
    const driver = given.on(HOST, settings, { host });
    drivers.push(driver);
    return driver;
  }

  const living = async () => (await given.on(HOST).living()).filter(({ name }) => !left.includes(name));
  const names = async () => (await living()).map(({ name }) => name).sort();
  const verify = () => verifySandboxes({ pool: db.pool, host: HOST, living, workerIsAlive });

  /** Names of those that wait, when there are so many. */
  async function waiting(count: number): Promise<readonly string[]> {
    for (const deadline = Date.now() + LIMIT_MS; ; await sleep(50)) {
      const { rows } = await db.pool.query<{ name: string }>(
        "SELECT name FROM sandboxes WHERE try_id IS NULL AND state = 'created' ORDER BY name",
      );
      if (rows.length === count) return rows.map(({ name }) => name);
      if (Date.now() > deadline) throw new Error(`expected ${count} that wait, found ${rows.length}`);
    }
  }

  /** As an episode does it: taken, claimed in the ledger, created. */
  async function episode(
    driver: SandboxDriver,
    { servers = [given.spec()], between }: EpisodeOptions = {},
  ): Promise<Sandbox> {
    const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
    const warm = await driver.take?.({ servers, expiresAt });
    slot += 1;
    const attempt = planned(CAMPAIGN, 'a:1', String(slot));
    await db.ledger.planAttempts(CAMPAIGN, [attempt]);
    const start = begin(attempt.key, 1, 1, SELF);
    const name = warm?.name ?? start.sandbox.name;
    await db.ledger.beginTry({ ...start, sandbox: { name, isolation: 'docker', host: HOST, expiresAt } });
    if (warm) await between?.(name);
    const sandbox = await driver.create({ name, servers, signal: never, expiresAt, ...(warm && { warm }) });
    await db.ledger.sandboxCreated(name);
    return sandbox;
  }

  async function over(sandbox: Sandbox): Promise<void> {
    await sandbox.release();
    await db.ledger.sandboxEnded(sandbox.name, 'released');
  }

  const hello = async (sandbox: Sandbox) => expect((await given.call(sandbox, 'hello')).text).toBe('hello');

  /** What two episodes ask for at once is started ahead for two more. */
  async function warmed(driver: SandboxDriver, options: EpisodeOptions = {}): Promise<void> {
    const two = [episode(driver, options), episode(driver, options)];
    for (const sandbox of await Promise.all(two)) await over(sandbox);
  }

  test('one that waits is claimed by one try, never by another', async () => {
    const driver = ahead();
    await warmed(driver);
    await waiting(2);
    const sandboxes = await Promise.all([episode(driver), episode(driver), episode(driver)]);
    const taken = sandboxes.map(({ name }) => name);
    expect(taken.filter((name) => name.startsWith('sf-warm-'))).toHaveLength(2);
    expect(new Set(taken).size).toBe(3);
    for (const sandbox of sandboxes) await hello(sandbox);
    const tries =
      "SELECT count(DISTINCT try_id)::int AS tries FROM sandboxes WHERE name = ANY ($1) AND state = 'created'";
    expect((await db.pool.query(tries, [taken])).rows).toEqual([{ tries: 3 }]);
    for (const sandbox of sandboxes) await over(sandbox);
    const again = await episode(driver);
    expect(taken).not.toContain(again.name);
    await over(again);
  });

  test('what died while it waited is not handed out, and is gone', async () => {
    const driver = ahead();
    await warmed(driver);
    const [dead, other] = await waiting(2);
    await given.engine.getContainer(dead!).kill();
    expect(await waiting(1)).toEqual([other]);
    const sandboxes = [await episode(driver), await episode(driver)];
    expect(sandboxes.map(({ name }) => name)).toContain(other);
    expect(await names()).not.toContain(dead);
    for (const sandbox of sandboxes) await over(sandbox);
  });

  test('what dies in the moment in which it is claimed is started anew, under the same name', async () => {
    const driver = ahead();
    await warmed(driver);
    await waiting(2);
    const sandbox = await episode(driver, {
      between: (name) => given.engine.getContainer(name).kill(),
    });
    expect(sandbox.name).toMatch(/^sf-warm-/);
    await hello(sandbox);
    await over(sandbox);
  });

  test('as many as were asked for at once, up to the bound; none when nobody has asked for a while', async () => {
    let later = 0;
    const driver = ahead({ now: () => performance.now() + later });
    const sandboxes = await Promise.all(Array.from({ length: 5 }, () => episode(driver)));
    await waiting(3);
    for (const sandbox of sandboxes) await over(sandbox);
    later = 60_000;
    await waiting(0);
    expect(await names()).toEqual([]);
  });

  test('what is asked for no more makes room for what is', async () => {
    let later = 0;
    const driver = ahead({ most: 2, now: () => performance.now() + later });
    await warmed(driver);
    const before = await waiting(2);
    later = 15_000;
    await warmed(driver, { servers: [given.spec([], { KIND: 'other' })] });
    for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(50)) {
      const now = await names();
      if (now.length === 2 && before.every((name) => !now.includes(name))) break;
    }
    const after = await waiting(2);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
  });

  test('none at all where the operator wants none', async () => {
    const driver = ahead({ most: 0 });
    await warmed(driver);
    const sandbox = await episode(driver);
    expect(sandbox.name).not.toMatch(/^sf-warm-/);
    await over(sandbox);
    await waiting(0);
  });

  test('a worker that ends takes them with it', async () => {
    const driver = ahead();
    await warmed(driver);
    await waiting(2);
    await driver.close?.();
    await waiting(0);
    expect(await names()).toEqual([]);
    const late = await episode(driver);
    expect(late.name).not.toMatch(/^sf-warm-/);
    await over(late);
  });

  test('a worker that is killed leaves them to its successor', async () => {
    const child = worker();
    const wait = new Set(await waiting(2));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(new Set(await names())).toEqual(wait);
    expect((await verify()).problems).toHaveLength(2);
    const parts = {
      ledger: db.ledger,
      environment: { host: HOST, identity: SELF },
      driver: () => given.on(HOST),
    };
    const { reaped } = await sweepSandboxes(parts, { starting: true });
    expect(new Set(reaped)).toEqual(wait);
  });

  test.skipIf(!local)('an engine that goes away: those that wait are given up, and named', async () => {
    const path = join(given.home, 'through.sock');
    const sides = new Set<Socket>();
    const through = createServer((client) => {
      const engineSide = connect(engine!.settings.host?.replace('unix://', '') ?? '/var/run/docker.sock');
      client.pipe(engineSide).pipe(client);
      for (const side of [client, engineSide]) {
        sides.add(side);
        side.on('error', () => side.destroy());
      }
    });
    await new Promise<void>((resolve) => through.listen(path, resolve));
    const driver = ahead({}, `unix://${path}`);
    await warmed(driver);
    const gone = await waiting(2);
    through.close();
    for (const side of sides) side.destroy();
    for (const deadline = Date.now() + LIMIT_MS; left.length < 2 && Date.now() < deadline; ) await sleep(50);
    expect([...left].sort()).toEqual(gone);
    const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
    expect(await driver.take?.({ servers: [given.spec()], expiresAt })).toBeUndefined();
  });

  /** A process of its own that has some waiting. */
  function worker(): ChildProcess {
    const program = join(ROOT, 'dist/test/sandbox/docker/fixtures/warm-worker.js');
    const settings = {
      home: given.home,
      host: HOST,
      databaseUrl: db.url,
      engine: engine!.settings,
      server: given.spec(),
    };
    const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    createInterface({ input: child.stderr }).on('line', (line) => process.stderr.write(`${line}\n`));
    return child;
  }
});
