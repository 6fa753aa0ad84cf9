/** Sweeps and `verify sandbox`, with real programs and a real ledger. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { verifySandboxes } from '../../activities/ledger/verify-sandboxes.js';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import type { BeginTry } from '../../core/ledger.js';
import type { Sandbox, SandboxDriver } from '../../core/sandbox.js';
import { createLeftovers } from '../../workers/leftovers.js';
import { keepSweeping, sweepSandboxes, workerIsAlive } from '../../workers/sweep.js';
import { writtenDown } from '../../workers/written-down.js';
import { processShelf } from '../episode/fixtures/shelf-program.js';
import { begin, claim, faulted, planned } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const CAMPAIGN = 'eval/sweep';
const HOST = 'sweep-host';
const SELF = `${HOST}:${process.pid}`;
const never = new AbortController().signal;
let db: TestDatabase;
let dead = '';
let home = '';
let driver: SandboxDriver;
let slot = 0;
const open: Sandbox[] = [];
const tries = new Map<string, BeginTry>();

beforeAll(async () => {
  db = await startTestDatabase();
  await db.ledger.claimCampaign(claim(CAMPAIGN));
  const child = spawn('true');
  await once(child, 'exit');
  dead = `${HOST}:${child.pid}`;
});
afterAll(async () => {
  await Promise.all(open.map((sandbox) => sandbox.release()));
  await rm(home, { recursive: true, force: true });
  await db.stop();
});
beforeEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.release()));
  if (home) await rm(home, { recursive: true, force: true });
  home = await mkdtemp(join(os.tmpdir(), 'sweep-'));
  driver = createProcessDriver(home);
  await db.pool.query("UPDATE sandboxes SET state = 'reaped', ended_at = now() WHERE ended_at IS NULL");
});

/** A sandbox as a worker makes it: written down, started, written down again. */
async function made(worker: string, expiresInMs = 3_600_000, labels = {}): Promise<string> {
  slot += 1;
  const attempt = planned(CAMPAIGN, 'a:1', String(slot));
  await db.ledger.planAttempts(CAMPAIGN, [attempt]);
  const start = begin(attempt.key, 1, 1, worker);
  const expiresAt = new Date(Date.now() + expiresInMs).toISOString();
  const sandbox = { ...start.sandbox, isolation: 'process', host: HOST, expiresAt };
  await db.ledger.beginTry({ ...start, sandbox });
  tries.set(sandbox.name, start);
  const { name } = sandbox;
  open.push(await driver.create({ name, servers: [await processShelf()], signal: never, labels }));
  await db.ledger.sandboxCreated(sandbox.name);
  return sandbox.name;
}

const sweep = (starting: boolean) =>
  sweepSandboxes(
    { ledger: db.ledger, environment: { host: HOST, identity: SELF }, driver: () => driver },
    { starting },
  );
const verify = () =>
  verifySandboxes({ pool: db.pool, host: HOST, living: () => driver.living(), workerIsAlive });

test('a sweep ends what dead workers and expiry left, and nothing of the living', async () => {
  const [orphan, expired, alive] = [await made(dead), await made(SELF, -1), await made(SELF)];
  expect(await driver.living()).toHaveLength(3);
  const { reaped, problems } = await sweep(false);
  expect([[...reaped].sort(), problems]).toEqual([[orphan, expired].sort(), []]);
  expect(await driver.living()).toEqual([{ name: alive }]);
  expect((await sweep(false)).reaped).toEqual([]);
  // A process that has just started has made nothing: what carries its id is a predecessor's.
  expect((await sweep(true)).reaped).toEqual([alive]);
  expect(await driver.living()).toEqual([]);
});

test('a release that did not get through is made up for', async () => {
  const over = await made(SELF);
  const { key } = tries.get(over)!;
  await db.ledger.finishTry(faulted(key, 1, 1, { kind: 'sandbox' }));
  // Its worker may be about to release it.
  expect((await sweep(false)).reaped).toEqual([]);
  await db.pool.query("UPDATE tries SET ended_at = now() - interval '2 minutes' WHERE ended_at IS NOT NULL");
  expect((await verify()).problems).toEqual([
    `${over}: its try is over and it was not released (worker ${SELF})`,
  ]);
  expect((await sweep(false)).reaped).toEqual([over]);

  const late = await made(SELF);
  await db.ledger.sandboxEnded(late, 'released');
  expect((await sweep(false)).reaped).toEqual([late]);
  expect(await driver.living()).toEqual([]);
});

test('one that cannot be ended is told, and the others are ended', async () => {
  const [stuck, other] = [await made(dead), await made(dead)];
  const whole = driver;
  const reap = (name: string) =>
    name === stuck ? Promise.reject(new Error('the engine hangs')) : whole.reap(name);
  driver = { ...whole, reap };
  expect(await sweep(false)).toEqual({ reaped: [other], problems: [`sandbox ${stuck}: the engine hangs`] });
  driver = whole;
  expect((await sweep(false)).reaped).toEqual([stuck]);
});

/** A sandbox as a worker starts it ahead. */
async function ahead(worker: string, expiresInMs = 3_600_000): Promise<string> {
  slot += 1;
  const name = `sf-warm-${process.pid}-${slot}`;
  const expiresAt = new Date(Date.now() + expiresInMs).toISOString();
  await db.ledger.sandboxesAhead(worker, [{ name, isolation: 'process', host: HOST, expiresAt }]);
  open.push(await driver.create({ name, servers: [await processShelf()], signal: never }));
  await db.ledger.sandboxCreated(name);
  return name;
}

test('started ahead: a living worker keeps them until they expire, a dead one’s are ended', async () => {
  const [mine, expired, orphan] = [await ahead(SELF), await ahead(SELF, -1), await ahead(dead)];
  const { waiting, created, problems } = await verify();
  expect([waiting, created]).toEqual([3, 3]);
  expect([...problems].sort()).toEqual(
    [
      `${expired}: past its expiry and never ended (worker ${SELF})`,
      `${orphan}: its worker ${dead} is gone`,
    ].sort(),
  );
  expect([...(await sweep(false)).reaped].sort()).toEqual([expired, orphan].sort());
  expect(await driver.living()).toEqual([{ name: mine }]);
  expect((await sweep(true)).reaped).toEqual([mine]);
});

test('what says that its worker is gone is swept without a ledger, and when the ledger is away', async () => {
  const orphan = () => made(dead, 3_600_000, { worker: dead });
  const [first, alive] = [await orphan(), await made(SELF, 3_600_000, { worker: SELF })];
  const unmarked = await made(dead);
  const environment = { host: HOST, identity: SELF };
  const byMarks = { environment, driver: () => driver };
  expect(await sweepSandboxes(byMarks, { starting: false })).toEqual({ reaped: [first], problems: [] });
  const second = await orphan();
  const away = () => Promise.reject(new Error('no ledger'));
  const ledger = { openSandboxes: away, endedSandboxes: away, sandboxEnded: away };
  const { reaped, problems } = await sweepSandboxes({ ...byMarks, ledger }, { starting: false });
  expect([reaped, problems[0]]).toEqual([[second], 'sandboxes of the ledger: no ledger']);
  expect((await driver.living()).map(({ name }) => name).sort()).toEqual([alive, unmarked].sort());
  await expect(keepSweeping({ ...byMarks, ledger }, () => {})).rejects.toThrow(/not known/);
});

test('a worker of another host that shares the home is not judged by process ids', async () => {
  const theirs = await made(SELF, 3_600_000, { worker: dead.replace(HOST, 'another') });
  expect((await sweep(false)).reaped).toEqual([]);
  const environment = { host: 'another', identity: 'another:1' };
  const there = { ledger: db.ledger, environment, driver: () => driver };
  expect((await sweepSandboxes(there, { starting: false })).reaped).toEqual([theirs]);
});

test('a worker that starts does not wait for what it ends', async () => {
  const stuck = await made(dead);
  const whole = driver;
  let goOn = () => {};
  const hanging = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  driver = { ...whole, reap: (name) => hanging.then(() => whole.reap(name)) };
  const said: string[] = [];
  const parts = { ledger: db.ledger, environment: { host: HOST, identity: SELF }, driver: () => driver };
  const stop = await keepSweeping(parts, (line) => said.push(line));
  expect((await whole.living()).map(({ name }) => name)).toEqual([stuck]);
  goOn();
  await until(() => said.length > 0);
  expect(said).toEqual([`ended 1 sandboxes that were left behind: ${stuck}`]);
  stop();
});

test('a release that did not get through is tried again until it does', async () => {
  const name = await made(SELF);
  const whole = driver;
  let failures = 0;
  const reap = (each: string) => {
    failures += 1;
    return failures === 1 ? Promise.reject(new Error('the engine hangs')) : whole.reap(each);
  };
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  const leftovers = createLeftovers({
    ledger: db.ledger,
    driver: () => ({ ...whole, reap }),
    say,
    firstMs: 10,
  });
  leftovers.add({ name, isolation: 'process' });
  await until(() => said.length === 2);
  expect(said[0]).toBe(`sandbox ${name} may still be there: the engine hangs`);
  expect(await whole.living()).toEqual([]);
  expect(await db.ledger.endedSandboxes([name])).toEqual([name]);
  leftovers.stop();
});

test('a sandbox that no try owns is in the ledger before it is there, and ended in both', async () => {
  const ledger = db.ledger;
  const replays = writtenDown(driver, { ledger, host: HOST });
  const before = await verify();
  const sandbox = await replays.create({
    name: 'sf-replay-1',
    servers: [await processShelf()],
    signal: never,
  });
  open.push(sandbox);
  expect(await driver.living()).toEqual([{ name: 'sf-replay-1', worker: SELF }]);
  const during = await verify();
  expect([during.known - before.known, during.created, during.problems]).toEqual([1, 1, []]);
  await sandbox.release();
  expect(await verify()).toMatchObject({
    created: 0,
    living: 0,
    released: before.released + 1,
    problems: [],
  });
  const failing = { ...(await processShelf()), command: { file: '/nowhere', args: [], env: {} } };
  await expect(
    replays.create({ name: 'sf-replay-2', servers: [failing], signal: never }),
  ).rejects.toMatchObject({ kind: 'sandbox' });
  expect(await db.ledger.endedSandboxes(['sf-replay-2'])).toEqual(['sf-replay-2']);
  expect((await verify()).problems).toEqual([]);
});

test.skipIf(process.platform !== 'linux')(
  'a worker that has ended and was not waited for is dead',
  async () => {
    // Its parent becomes a program that waits for nobody.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      const worker = `${HOST}:${Number(said.toString())}`;
      await until(() => !workerIsAlive(worker));
      expect(() => process.kill(Number(said.toString()), 0)).not.toThrow();
      expect(workerIsAlive(`${HOST}:${parent.pid}`)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
    }
  },
);

test('verify names a host where nobody ends what has expired', async () => {
  const name = await made(dead, -1);
  await db.pool.query("UPDATE sandboxes SET host = 'far' WHERE name = $1", [name]);
  expect((await verify()).problems[0]).toMatch(
    /^host far: 1 are past their expiry .*steadfast sandbox sweep/,
  );
});

test('verify: what adds up, and each thing that is left behind', async () => {
  const fine = await made(SELF);
  const clean = await verify();
  expect(clean.problems).toEqual([]);
  expect(clean.known).toBe(clean.released + clean.reaped + clean.intended + clean.created);
  expect([clean.created, clean.living]).toEqual([1, 1]);

  const orphan = await made(dead);
  const expired = await made(SELF, -1);
  const forgotten = await made(SELF);
  await db.ledger.sandboxEnded(forgotten, 'released');
  open.push(await driver.create({ name: 'sf-unknown', servers: [await processShelf()], signal: never }));
  const { problems } = await verify();
  expect([...problems].sort()).toEqual(
    [
      `${orphan}: its worker ${dead} is gone`,
      `${expired}: past its expiry and never ended (worker ${SELF})`,
      `${forgotten}: there, and released in the ledger`,
      'sf-unknown: there, and not in the ledger',
    ].sort(),
  );
  expect(problems.join()).not.toContain(fine);
});

/** For at most half a minute. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !holds(); ) {
    if (Date.now() > end) throw new Error('not reached');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
