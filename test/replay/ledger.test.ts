/** What the ledger does for replays: results that are taken over, steps that are left out. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runViolations } from '../../core/invariants.js';
import { stepId } from '../../core/keys.js';
import type { ReusedAttempt } from '../../core/ledger.js';
import { begin, claim, clean, digest, manifest, member, report, stepRow } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const [SOURCE, FORK] = ['train/source', 'train/fork'];
const [BASE, BATCH, AFTER] = [digest('1'), digest('2'), digest('3')];
let db: TestDatabase;

beforeAll(async () => {
  db = await startTestDatabase();
  for (const id of [SOURCE, FORK]) await db.ledger.claimCampaign(claim(id));
});
afterAll(() => db.stop());

/** The fork's attempt, and the source's key. */
function reused(index: number): ReusedAttempt {
  const of = (run: string, step: number) => member(stepId(run, step), step, [0, 0, index], 'a:1');
  return { ...(of(FORK, 1) as Required<ReturnType<typeof of>>), from: of(SOURCE, 2).key };
}

it('a clean result is taken over once, with its source and without a sandbox or a cost', async () => {
  const source = member(stepId(SOURCE, 2), 2, [0, 0, 0], 'a:1');
  await db.ledger.planAttempts(SOURCE, [source]);
  await db.ledger.beginTry(begin(source.key));
  await db.ledger.finishTry(clean(source.key, true));

  expect(await db.ledger.reuseAttempts(FORK, [reused(0)])).toBe(1);
  expect(await db.ledger.reuseAttempts(FORK, [reused(0)])).toBe(0);
  const [before, after] = [await db.ledger.attempt(source.key), await db.ledger.attempt(reused(0).key)];
  const { key: _key, campaign: _campaign, step: _step, history: _history, endedAt: _at, ...same } = before!;
  expect(after).toMatchObject(same);
  expect(after?.history).toMatchObject([{ state: 'clean', reusedFrom: source.key, tryNumber: 1 }]);
  expect(before?.history).toMatchObject([{ reusedFrom: null }]);
  expect(await db.ledger.usage(FORK)).toMatchObject({ cleanTries: 0, wastedTries: 0 });
  expect(await db.ledger.sandboxCounts(FORK)).toEqual({ intended: 0, created: 0, released: 0, reaped: 0 });
  expect((await db.ledger.beginTry(begin(reused(0).key))).clean).toMatchObject({ outcome: 'passed' });
});

it('what is not clean cannot be taken over, and nothing of the call is written', async () => {
  const pending = member(stepId(SOURCE, 2), 2, [0, 0, 1], 'a:1');
  await db.ledger.planAttempts(SOURCE, [pending]);
  await expect(db.ledger.reuseAttempts(FORK, [reused(1)])).rejects.toMatchObject({ code: 'not_found' });
  expect(await db.ledger.attempt(reused(1).key)).toBeUndefined();
});

it('the update of a step that was left out comes too late', async () => {
  const op = `${SOURCE}/step-0001/update`;
  await db.ledger.putStep(stepRow(SOURCE, 1, { state: 'sampled', batchDigest: BATCH }));
  await db.ledger.intendOperation({
    op,
    run: SOURCE,
    step: 1,
    baseDigest: BASE,
    batchDigest: BATCH,
    plan: {},
  });
  await db.ledger.operationSent(op);
  await db.ledger.putStep(stepRow(SOURCE, 1, { state: 'failed', cause: 'the trainer refused it' }));
  await db.ledger.putStep(stepRow(SOURCE, 1, { state: 'skipped', baseDigest: BASE, weightDigest: BASE }));
  await expect(db.ledger.operationDone(op, report(op, BASE, BATCH, AFTER))).rejects.toThrow(/was skipped/);
  expect((await db.ledger.steps(SOURCE))[0]).toMatchObject({ state: 'skipped', weightDigest: BASE });
});

it('a checkpoint counts updates, and a step that was left out is none', () => {
  const run = SOURCE;
  const op = `${run}/step-0002/update`;
  const rows = {
    run,
    base: null,
    steps: [
      stepRow(run, 1, { state: 'skipped', baseDigest: BASE, weightDigest: BASE }),
      stepRow(run, 2, { state: 'done', baseDigest: BASE, weightDigest: AFTER, batchDigest: BATCH, op }),
    ],
    operations: [
      {
        ...{ op, run, step: 2, state: 'done' as const, baseDigest: BASE, batchDigest: BATCH, plan: {} },
        report: report(op, BASE, BATCH, AFTER),
      },
    ],
  };
  const saved = (updates: number) => [{ run, step: 2, path: '/c', manifest: manifest(run, updates, AFTER) }];
  expect(runViolations({ ...rows, checkpoints: saved(1) })).toEqual([]);
  expect(runViolations({ ...rows, checkpoints: saved(2) })).toMatchObject([{ invariant: 'checkpoints' }]);
});
