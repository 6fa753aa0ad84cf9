import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { begin, claim, clean, faulted, member, planned, USAGE } from './fixtures.js';

let db: TestDatabase;
const PIPELINE = 'pipeline/demo';
const EVAL = 'eval/demo';
const RUN = 'train/demo';
const rows = [0, 1, 2, 3, 4].map((slot) => planned(EVAL, slot < 3 ? 'retail:a' : 'bank:b', String(slot)));
const [passed, failed, exhausted, running, pending] = rows.map(({ key }) => key) as [
  string,
  string,
  string,
  string,
  string,
];

/** One attempt in every state, under one pipeline. */
beforeAll(async () => {
  db = await startTestDatabase();
  const { ledger } = db;
  await ledger.claimCampaign(claim(PIPELINE));
  await ledger.claimCampaign(claim(EVAL, {}, PIPELINE));
  await ledger.claimCampaign(claim(RUN, {}, PIPELINE));
  await ledger.planAttempts(EVAL, rows);
  await ledger.planAttempts(
    RUN,
    [0, 1].map((index) => member(RUN, 3, [0, 1, index], 'bank:b')),
  );
  await ledger.beginTry(begin(passed));
  await ledger.finishTry(
    faulted(passed, 1, 1, { kind: 'policy', code: 'overloaded', duringToolCall: false }),
  );
  await ledger.beginTry(begin(passed, 2));
  await ledger.finishTry(clean(passed, true, 2));
  await ledger.beginTry(begin(failed));
  const result = clean(failed, false);
  await ledger.finishTry({ ...result, clean: { ...result.clean!, termination: 'agent_limit' } });
  await ledger.beginTry(begin(exhausted));
  await ledger.finishTry(faulted(exhausted, 1, 1, { exhausted: true }));
  await ledger.beginTry(begin(running));
});
afterAll(() => db.stop());

const keys = (found: readonly { key: string }[]): string[] => found.map(({ key }) => key);

test('attempts are found by every filter, in plan order', async () => {
  const find = async (filter: Parameters<typeof db.ledger.findAttempts>[0]) =>
    keys(await db.ledger.findAttempts(filter));
  expect(await find({ campaign: EVAL })).toEqual(keys(rows));
  expect(await find({ campaign: EVAL, outcome: 'passed' })).toEqual([passed]);
  expect(await find({ campaign: EVAL, outcome: 'failed' })).toEqual([failed]);
  expect(await find({ campaign: EVAL, outcome: 'system_error' })).toEqual([passed, exhausted]);
  expect(await find({ campaign: EVAL, outcome: 'exhausted' })).toEqual([exhausted]);
  expect(await find({ campaign: EVAL, outcome: 'pending' })).toEqual([running, pending]);
  expect(await find({ campaign: EVAL, outcome: 'running' })).toEqual([running]);
  expect(await find({ fault: 'policy' })).toEqual([passed]);
  expect(await find({ termination: 'agent_limit' })).toEqual([failed]);
  expect(await find({ campaign: EVAL, taskId: 'bank:b' })).toEqual([running, pending]);
  expect(await find({ campaign: EVAL, limit: 2, offset: 1 })).toEqual([failed, exhausted]);
  expect(await find({ campaign: PIPELINE })).toHaveLength(7);
  expect(await find({ campaign: PIPELINE, step: 3 })).toHaveLength(2);
  expect(await find({ campaign: 'eval/none' })).toEqual([]);
});

test('a found attempt tells its newest fault and whether it runs', async () => {
  const found = await db.ledger.findAttempts({ campaign: EVAL });
  expect(found.map(({ fault, faultCode, running: runs }) => [fault, faultCode, runs])).toEqual([
    ['policy', 'overloaded', false],
    [null, null, false],
    ['sandbox', null, false],
    [null, null, true],
    [null, null, false],
  ]);
});

test('one attempt in full', async () => {
  const detail = await db.ledger.attempt(failed);
  expect(detail).toMatchObject({ key: failed, seed: '42', turns: 5, toolCalls: 4, toolErrors: 0, tries: 1 });
  expect(detail?.verdict).toEqual({ passed: false, reward: 0, reasons: ['a row is missing'], judged: [] });
  expect((await db.ledger.attempt(passed))?.history.map(({ state }) => state)).toEqual([
    'system_error',
    'clean',
  ]);
  expect(await db.ledger.attempt(pending)).toMatchObject({
    state: 'pending',
    verdict: null,
    history: [],
    usage: null,
  });
  expect(await db.ledger.attempt('nothing')).toBeUndefined();
});

test('progress, tokens and faults of a campaign, and of the pipeline above it', async () => {
  expect(await db.ledger.progress(EVAL)).toMatchObject({ finished: 3, perMinute: 3, running: 1, pending: 2 });
  expect(await db.ledger.progress(EVAL, 30)).toMatchObject({ finished: 3, perMinute: 6 });
  expect(await db.ledger.progress(PIPELINE)).toMatchObject({ finished: 3, pending: 4 });
  expect(await db.ledger.progress('eval/none')).toEqual({
    ...{ finished: 0, perMinute: 0, running: 0, pending: 0, lastEndedAt: null },
  });
  const twice = Object.fromEntries(Object.entries(USAGE).map(([name, value]) => [name, 2 * value]));
  expect(await db.ledger.usage(PIPELINE)).toEqual({
    clean: twice,
    wasted: twice,
    cleanTries: 2,
    wastedTries: 2,
  });
  expect(await db.ledger.faultCounts(EVAL)).toEqual([
    { taskId: 'retail:a', kind: 'policy', code: 'overloaded', duringToolCall: false, tries: 1 },
    { taskId: 'retail:a', kind: 'sandbox', code: null, duringToolCall: true, tries: 1 },
  ]);
  expect(await db.ledger.counts(EVAL)).toEqual({
    ...{ planned: 5, clean: 2, passed: 1, pending: 2, exhausted: 1, faults: { policy: 1, sandbox: 1 } },
  });
});

test('a training attempt keeps its place', async () => {
  const [first] = await db.ledger.attempts(RUN, { step: 3 });
  expect(first).toMatchObject({ step: 3, round: 0, group: 1, member: 0, slot: '0.1.0' });
  expect(await db.ledger.attempts(RUN, { step: 4 })).toEqual([]);
  expect((await db.ledger.missingKeys(RUN))[1]).toEqual(member(RUN, 3, [0, 1, 1], 'bank:b'));
});
