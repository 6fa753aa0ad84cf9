/** Tries that a stop of the campaign ended: kept in the ledger, told apart from system errors wherever people look. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { samplingMetrics } from '../../activities/campaign/step-metrics.js';
import { progressLine } from '../../cli/run/progress.js';
import { snapshot } from '../../cli/run/snapshot.js';
import type { TrainConfig } from '../../core/campaign.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { begin, claim, clean, faulted, member, planned } from './fixtures.js';

let db: TestDatabase;
const EVAL = 'eval/halted';
const RUN = 'train/halted';
const [first, second, third] = [0, 1, 2].map((slot) => planned(EVAL, 'retail:a', String(slot)).key) as [
  string,
  string,
  string,
];
const STOPPED = { kind: 'cancelled', message: 'the episode was cancelled', duringToolCall: false } as const;

/** Two attempts in flight when the campaign was stopped; one of them met a fault before, one ran again afterwards. */
beforeAll(async () => {
  db = await startTestDatabase();
  const { ledger } = db;
  await ledger.claimCampaign(claim(EVAL, { tasks: ['retail:a'], repeat: 3 }));
  await ledger.planAttempts(
    EVAL,
    [0, 1, 2].map((slot) => planned(EVAL, 'retail:a', String(slot))),
  );
  await ledger.beginTry(begin(first));
  await ledger.finishTry(faulted(first));
  await ledger.beginTry(begin(first, 2));
  await ledger.finishTry(faulted(first, 2, 1, STOPPED));
  await ledger.beginTry(begin(second));
  await ledger.finishTry(faulted(second, 1, 1, STOPPED));
  await ledger.beginTry(begin(second, 2));
  await ledger.finishTry(clean(second, true, 2));
  await ledger.setCampaignState(EVAL, 'stopped');
});
afterAll(() => db.stop());

test('counts, faults by task and searches know them as stopped', async () => {
  const { ledger } = db;
  expect(await ledger.counts(EVAL)).toMatchObject({ faults: { sandbox: 1 }, stopped: 2 });
  expect((await ledger.counts(EVAL)).faults).not.toHaveProperty('cancelled');
  expect((await ledger.faultCounts(EVAL)).map(({ kind, tries }) => [kind, tries])).toEqual([['sandbox', 1]]);
  const found = async (filter: object) =>
    (await ledger.findAttempts({ campaign: EVAL, ...filter })).map(({ key, fault }) => [key, fault]);
  expect(await found({ outcome: 'system_error' })).toEqual([[first, 'sandbox']]);
  expect(await found({})).toEqual([
    [first, 'sandbox'],
    [second, null],
    [third, null],
  ]);
});

test('none is lost: the try says what it was, its tokens are counted, and it is found by its kind', async () => {
  const { ledger } = db;
  const [stopped] = await ledger.tries(second);
  expect(stopped).toMatchObject({ state: 'system_error', fault: { kind: 'cancelled' } });
  expect((await ledger.usage(EVAL)).wastedTries).toBe(3);
  expect((await ledger.findAttempts({ campaign: EVAL, fault: 'cancelled' })).map(({ key }) => key)).toEqual([
    first,
    second,
  ]);
});

test('status says stopped, and system errors for what was one', async () => {
  const line = progressLine((await snapshot(db.ledger, EVAL))!.campaigns[0]!);
  expect(line).toContain('2 tries stopped in flight');
  expect(line).toContain('system errors: 1 sandbox');
  expect(line).not.toContain('cancelled');
});

test("a step's system errors leave them out", async () => {
  const { ledger } = db;
  await ledger.claimCampaign(claim(RUN, {}));
  const row = member(RUN, 1, [0, 0, 0], 'bank:b');
  await ledger.planAttempts(RUN, [row]);
  await ledger.beginTry(begin(row.key));
  await ledger.finishTry(faulted(row.key, 1, 1, STOPPED));
  await ledger.beginTry(begin(row.key, 2));
  await ledger.finishTry(faulted(row.key, 2));
  await ledger.beginTry(begin(row.key, 3));
  await ledger.finishTry(clean(row.key, true, 3));
  const config = { shape: { groups: 1 } } as TrainConfig;
  const attempts = await ledger.attempts(RUN);
  expect(attempts).toMatchObject([{ tries: 3, stopped: 1 }]);
  expect(samplingMetrics(config, [], attempts).systemErrors).toBe(1);
});
