import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PlannedAttempt } from '../../core/ledger.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { begin, claim, clean, digest, faulted, planned, USAGE } from './fixtures.js';

let db: TestDatabase;
let campaign: string;
let key: string;
let campaigns = 0;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  campaign = `eval/c${++campaigns}`;
  await db.ledger.claimCampaign(claim(campaign));
  const attempt = planned(campaign, 'retail:t1', '0');
  key = attempt.key;
  await db.ledger.planAttempts(campaign, [attempt]);
});

const states = async (): Promise<string[]> =>
  (await db.ledger.tries(key)).map((row) => `${row.tryNumber}.${row.activityAttempt} ${row.state}`);

describe('planning', () => {
  test('keeps the order, ignores what is there, and counts what is new', async () => {
    const many: PlannedAttempt[] = Array.from({ length: 10_000 }, (_, at) =>
      planned(campaign, `t:${at % 500}`, `${at}`),
    );
    expect(await db.ledger.planAttempts(campaign, many)).toBe(10_000);
    expect(await db.ledger.planAttempts(campaign, many.slice(0, 100))).toBe(0);
    const missing = await db.ledger.missingKeys(campaign);
    expect(missing).toEqual([planned(campaign, 'retail:t1', '0'), ...many]);
  });

  test('of several at once each row is new to one', async () => {
    const rows = Array.from({ length: 50 }, (_, at) => planned(campaign, 't:1', `${at}`));
    const added = await Promise.all([1, 2, 3, 4].map(() => db.ledger.planAttempts(campaign, rows)));
    expect(added.reduce((sum, count) => sum + count)).toBe(50);
  });

  test('the same key for something else is refused', async () => {
    const other = { ...planned(campaign, 'retail:t1', '0'), seed: '43' };
    await expect(db.ledger.planAttempts(campaign, [other])).rejects.toMatchObject({
      code: 'conflict',
      retry: false,
    });
  });
});

test('an attempt is tried, ends clean, and is answered from the ledger afterwards', async () => {
  expect(await db.ledger.beginTry(begin(key))).toEqual({});
  expect(await db.ledger.finishTry(clean(key))).toBe('recorded');
  const { clean: summary } = await db.ledger.beginTry(begin(key, 1, 2));
  expect(summary).toEqual({
    ...{
      key,
      outcome: 'passed',
      reward: 1,
      termination: 'done',
      reused: true,
      sampledTokens: 40,
      wallMs: 12.5,
    },
  });
  expect(await db.ledger.cleanSummary(key)).toEqual(summary);
  expect(await states()).toEqual(['1.1 clean']);
  const [row] = await db.ledger.attempts(campaign);
  expect(row).toMatchObject({
    state: 'clean',
    passed: true,
    reward: 1,
    usage: USAGE,
    tries: 1,
    wallMs: 12.5,
  });
  expect(row).toMatchObject({ trajectory: digest('7'), weightVersion: digest('b'), truncatedTurns: 0 });
  expect(await db.ledger.missingKeys(campaign)).toEqual([]);
});

test('a repeated finish is recorded once, and says so again', async () => {
  await db.ledger.beginTry(begin(key));
  expect(await db.ledger.finishTry(clean(key))).toBe('recorded');
  expect(await db.ledger.finishTry(clean(key))).toBe('recorded');
  expect(await db.ledger.finishTry(faulted(key))).toBe('superseded');
  expect(await db.ledger.counts(campaign)).toEqual({
    ...{ planned: 1, clean: 1, passed: 1, pending: 0, exhausted: 0, faults: {} },
  });
});

test('a try of a dead worker is lost when the next begins; should the worker be alive, its result still counts', async () => {
  await db.ledger.beginTry(begin(key, 1, 1, 'w1'));
  await db.ledger.beginTry(begin(key, 1, 2, 'w2'));
  expect(await states()).toEqual(['1.1 lost', '1.2 running']);
  expect(await db.ledger.finishTry(clean(key, true, 1, 1))).toBe('recorded');
  expect(await db.ledger.finishTry(clean(key, false, 1, 2))).toBe('superseded');
  expect(await db.ledger.finishTry(clean(key, false, 1, 2))).toBe('superseded');
  expect(await states()).toEqual(['1.1 clean', '1.2 superseded']);
  expect(await db.ledger.counts(campaign)).toMatchObject({ clean: 1, passed: 1 });
});

test('beginning the same try twice is one try, with every sandbox that was intended', async () => {
  const first = begin(key);
  await db.ledger.beginTry(first);
  await db.ledger.beginTry(first);
  await db.ledger.beginTry({ ...begin(key), worker: 'w2' });
  expect(await states()).toEqual(['1.1 running']);
  expect(await db.ledger.sandboxCounts(campaign)).toEqual({
    intended: 2,
    created: 0,
    released: 0,
    reaped: 0,
  });
});

test('system errors are data; the last one exhausts the attempt, and opening it again keeps its tries', async () => {
  const fault = {
    kind: 'policy',
    code: 'rate_limited',
    message: 'NUL \0 and half \udc00',
    stack: 'at x',
  } as const;
  await db.ledger.beginTry(begin(key, 1));
  expect(await db.ledger.finishTry(faulted(key, 1, 1, fault))).toBe('recorded');
  expect(await db.ledger.finishTry(faulted(key, 1, 1, fault))).toBe('recorded');
  await db.ledger.beginTry(begin(key, 2));
  await db.ledger.finishTry(faulted(key, 2, 1, { kind: 'sandbox', exhausted: true }));
  expect(await db.ledger.counts(campaign)).toMatchObject({
    exhausted: 1,
    pending: 0,
    faults: { policy: 1, sandbox: 1 },
  });
  expect((await db.ledger.tries(key))[0]?.fault).toEqual({
    ...fault,
    message: 'NUL \ufffd and half \ufffd',
    duringToolCall: true,
  });

  expect(await db.ledger.reopenExhausted(campaign)).toEqual([key]);
  expect(await db.ledger.reopenExhausted(campaign)).toEqual([]);
  await db.ledger.beginTry(begin(key, 3));
  expect(await db.ledger.finishTry(clean(key, false, 3))).toBe('recorded');
  expect(await db.ledger.counts(campaign)).toMatchObject({ exhausted: 0, clean: 1, passed: 0 });
  expect((await db.ledger.attempts(campaign))[0]).toMatchObject({ tries: 3, passed: false, reward: 0 });
});

test('a worker that was taken for dead cannot exhaust the attempt of its successor', async () => {
  await db.ledger.beginTry(begin(key, 3, 1));
  await db.ledger.beginTry(begin(key, 3, 2));
  expect(await db.ledger.finishTry(faulted(key, 3, 1, { exhausted: true }))).toBe('recorded');
  expect(await db.ledger.counts(campaign)).toMatchObject({ pending: 1, exhausted: 0 });
  expect(await db.ledger.finishTry(clean(key, true, 3, 2))).toBe('recorded');
});

test('a try that is run again under its old number after it had ended is another execution', async () => {
  await db.ledger.beginTry(begin(key));
  await db.ledger.finishTry(faulted(key, 1, 1, { exhausted: true }));
  await db.ledger.beginTry(begin(key));
  expect(await db.ledger.counts(campaign)).toMatchObject({ pending: 1, exhausted: 0 });
  await db.ledger.finishTry(clean(key));
  const rows = await db.ledger.tries(key);
  expect(rows.map((row) => [row.execution, row.state])).toEqual([
    [1, 'system_error'],
    [2, 'clean'],
  ]);
});

test('what was never planned or begun is an error that no retry can help', async () => {
  const notFound = { kind: 'ledger', code: 'not_found', retry: false };
  await expect(db.ledger.beginTry(begin('eval/x · t · 0'))).rejects.toMatchObject(notFound);
  await expect(db.ledger.finishTry(clean(key))).rejects.toMatchObject(notFound);
  await expect(db.ledger.finishTry(faulted('eval/x · t · 0'))).rejects.toMatchObject(notFound);
});

test('of many workers on one key, at once and with lost tries, exactly one result is recorded', async () => {
  const workers = Array.from({ length: 12 }, (_, at) => at + 1);
  const outcomes = await Promise.all(
    workers.map(async (at) => {
      const { clean: known } = await db.ledger.beginTry(begin(key, 1, at, `w${at}`));
      return known ? 'known' : db.ledger.finishTry(clean(key, at % 2 === 0, 1, at));
    }),
  );
  expect(outcomes.filter((outcome) => outcome === 'recorded')).toHaveLength(1);
  const rows = await db.ledger.tries(key);
  expect(rows.filter(({ state }) => state === 'clean')).toHaveLength(1);
  expect(rows.filter(({ state }) => state === 'running')).toHaveLength(0);
  const winner = rows.find(({ state }) => state === 'clean');
  expect((await db.ledger.attempts(campaign))[0]?.passed).toBe(winner?.passed);
});

test('sandboxes go from intended to ended, whoever says it how often', async () => {
  const start = begin(key);
  const { name, host, expiresAt } = start.sandbox;
  const row = { name, isolation: 'inline', worker: 'w1', expiresAt, abandoned: false };
  await db.ledger.beginTry(start);
  await db.ledger.sandboxCreated(name);
  await db.ledger.sandboxCreated(name);
  expect(await db.ledger.openSandboxes(host, ['w1'])).not.toContainEqual(row);
  expect(await db.ledger.openSandboxes(host, [])).toContainEqual(row);
  expect(await db.ledger.openSandboxes('another', [])).toEqual([]);
  expect(await db.ledger.endedSandboxes([name, 'another'])).toEqual([]);
  await db.ledger.sandboxEnded(name, 'reaped');
  expect(await db.ledger.endedSandboxes([name, 'another'])).toEqual([name]);
  await db.ledger.sandboxEnded(name, 'released');
  await db.ledger.sandboxCreated(name);
  expect(await db.ledger.sandboxCounts(campaign)).toEqual({
    intended: 0,
    created: 0,
    released: 0,
    reaped: 1,
  });
});

test('a sandbox that was started ahead is claimed by the try that begins with its name, by one only', async () => {
  const start = begin(key);
  const { name, host } = start.sandbox;
  const soon = new Date(Date.now() + 60_000).toISOString();
  const row = { name, isolation: 'inline', worker: 'w1', expiresAt: soon, abandoned: false };
  const unclaimed = { ...start.sandbox, expiresAt: soon };
  await db.ledger.sandboxesAhead('w1', [unclaimed]);
  await db.ledger.sandboxesAhead('w1', [unclaimed]);
  await db.ledger.sandboxCreated(name);
  expect(await db.ledger.openSandboxes(host, [])).toContainEqual(row);
  await db.ledger.beginTry(start);
  await db.ledger.beginTry(start);
  expect(await db.ledger.openSandboxes(host, [])).toContainEqual({
    ...row,
    expiresAt: start.sandbox.expiresAt,
  });
  expect(await db.ledger.sandboxCounts(campaign)).toEqual({
    intended: 0,
    created: 1,
    released: 0,
    reaped: 0,
  });
  // Another try with the same name is one of its own, and the sandbox stays the first one's.
  await db.ledger.beginTry({ ...start, tryNumber: 2 });
  await db.ledger.sandboxEnded(name, 'released');
  expect((await db.ledger.sandboxCounts(campaign)).released).toBe(1);
});

test('a sandbox that was ended before it was claimed begins no try', async () => {
  const start = begin(key);
  await db.ledger.sandboxesAhead('w1', [start.sandbox]);
  await db.ledger.sandboxEnded(start.sandbox.name, 'reaped');
  await expect(db.ledger.beginTry(start)).rejects.toMatchObject({
    kind: 'ledger',
    code: 'conflict',
    retry: true,
  });
  expect(await states()).toEqual([]);
  await db.ledger.beginTry(begin(key));
  expect(await states()).toEqual(['1.1 running']);
});
