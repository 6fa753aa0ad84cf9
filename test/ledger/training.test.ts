import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claim, digest, manifest, report, stepRow } from './fixtures.js';

let db: TestDatabase;
let run: string;
let runs = 0;
const [BASE, BATCH, AFTER] = [digest('1'), digest('2'), digest('3')];

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  run = `train/r${++runs}`;
  await db.ledger.claimCampaign(claim(run));
});

test('a step goes forward only; digests that are recorded stay', async () => {
  const state = async () => (await db.ledger.steps(run))[0]?.state;
  await db.ledger.putStep(stepRow(run, 1, { cursor: 5 }));
  await db.ledger.putStep(
    stepRow(run, 1, {
      state: 'sampled',
      cursor: 5,
      started: 20,
      batchDigest: BATCH,
      metrics: { reward: 0.25 },
    }),
  );
  await db.ledger.putStep(stepRow(run, 1, { state: 'sampling' }));
  expect(await db.ledger.steps(run)).toEqual([
    stepRow(run, 1, {
      state: 'sampled',
      cursor: 5,
      started: 20,
      batchDigest: BATCH,
      metrics: { reward: 0.25 },
    }),
  ]);
  await db.ledger.putStep(stepRow(run, 1, { state: 'failed', started: 20, cause: 'the trainer is gone' }));
  expect((await db.ledger.steps(run))[0]).toMatchObject({ state: 'failed', batchDigest: BATCH });
  await db.ledger.putStep(stepRow(run, 1, { state: 'sampling' }));
  expect(await state()).toBe('sampling');
  await db.ledger.putStep(stepRow(run, 1, { state: 'done', weightDigest: AFTER }));
  for (const late of ['sampling', 'sampled', 'updated', 'failed'] as const) {
    await db.ledger.putStep(stepRow(run, 1, { state: late }));
  }
  expect((await db.ledger.steps(run))[0]).toMatchObject({ state: 'done', weightDigest: AFTER, cause: null });
});

test('groups are written again without trace, with their nulls', async () => {
  const group = { round: 0, group: 2, taskId: 't:1', state: 'incomplete', rewards: [1, null, 0.5] } as const;
  await db.ledger.putGroup(run, 1, group);
  await db.ledger.putGroup(run, 1, group);
  await db.ledger.putGroup(run, 2, { ...group, round: 1, state: 'informative', rewards: [1, 0, 0] });
  expect(await db.ledger.groups(run, 1)).toEqual([group]);
  expect((await db.ledger.allGroups(run)).map(({ step, round }) => [step, round])).toEqual([
    [1, 0],
    [2, 1],
  ]);
});

test('an operation is intended once, ends once, and moves the weights of its step', async () => {
  const plan = { learningRate: 1e-6, clip: 0.2 };
  const op = `${run}/step-0001/update`;
  const wanted = { op, run, step: 1, baseDigest: BASE, batchDigest: BATCH, plan };
  await db.ledger.putStep(stepRow(run, 1, { state: 'sampled', batchDigest: BATCH }));
  const [first, again] = await Promise.all([1, 2].map(() => db.ledger.intendOperation(wanted)));
  expect(first).toEqual({ ...wanted, state: 'intended', report: null });
  expect(again).toEqual(first);
  await db.ledger.operationSent(op);

  const conflict = { kind: 'ledger', code: 'conflict', retry: false };
  await expect(db.ledger.intendOperation({ ...wanted, baseDigest: AFTER })).rejects.toMatchObject(conflict);
  await expect(db.ledger.intendOperation({ ...wanted, batchDigest: AFTER })).rejects.toMatchObject(conflict);
  await expect(db.ledger.intendOperation({ ...wanted, plan: { clip: 0.3 } })).rejects.toMatchObject(conflict);

  const done = report(op, BASE, BATCH, AFTER);
  await expect(db.ledger.operationDone(op, { ...done, baseDigest: AFTER })).rejects.toMatchObject(conflict);
  await Promise.all([1, 2, 3].map(() => db.ledger.operationDone(op, done)));
  await expect(db.ledger.operationDone(op, { ...done, weightDigest: BASE })).rejects.toMatchObject(conflict);
  await expect(db.ledger.operationDone('none', done)).rejects.toMatchObject({ code: 'not_found' });
  await db.ledger.operationSent(op);
  expect(await db.ledger.operations(run)).toEqual([{ ...wanted, state: 'done', report: done }]);
  expect((await db.ledger.steps(run))[0]).toMatchObject({
    state: 'updated',
    baseDigest: BASE,
    weightDigest: AFTER,
    op,
  });

  const second = { ...wanted, op: `${op}-again` };
  await expect(db.ledger.intendOperation(second)).rejects.toMatchObject(conflict);
});

test('an operation that was refused has failed, until it is sent again; one that is done never', async () => {
  const op = `${run}/step-0002/update`;
  const wanted = { op, run, step: 2, baseDigest: AFTER, batchDigest: BATCH, plan: {} };
  await db.ledger.putStep(stepRow(run, 2, { state: 'sampled', batchDigest: BATCH }));
  await db.ledger.intendOperation(wanted);
  await db.ledger.operationSent(op);
  const state = async () => (await db.ledger.operations(run)).find((row) => row.op === op)?.state;
  await db.ledger.operationFailed(op);
  expect(await state()).toBe('failed');
  expect((await db.ledger.intendOperation(wanted)).state).toBe('failed');
  await db.ledger.operationSent(op);
  expect(await state()).toBe('sent');
  await db.ledger.operationDone(op, report(op, AFTER, BATCH, BASE));
  await db.ledger.operationFailed(op);
  expect(await state()).toBe('done');
});

test('checkpoints come newest first, and saving one again replaces it', async () => {
  for (const step of [5, 10, 5]) {
    await db.ledger.putCheckpoint({ run, step, path: `/ckpt/${step}`, manifest: manifest(run, step, AFTER) });
  }
  const rows = await db.ledger.checkpoints(run);
  expect(rows.map(({ step }) => step)).toEqual([10, 5]);
  expect(rows[1]).toEqual({ run, step: 5, path: '/ckpt/5', manifest: manifest(run, 5, AFTER) });
});
