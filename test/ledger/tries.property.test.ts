/** Any order of begins and ends of one attempt, also repeated and from workers that were taken for dead, against a model. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { begin, claim, clean, faulted, planned } from './fixtures.js';

let db: TestDatabase;
let campaigns = 0;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

type Step =
  | { readonly do: 'begin' | 'pass' | 'fail'; readonly id: number }
  | { readonly do: 'fault'; readonly id: number; readonly exhausted: boolean };

/** Ids are (try, activity attempt): few, so that sequences meet again and again. */
const place = (id: number): [number, number] => [1 + (id >> 1), 1 + (id & 1)];
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('begin' as const, 'begin' as const, 'pass' as const, 'fail' as const),
    id: fc.nat(3),
  }),
  fc.record({ do: fc.constant('fault' as const), id: fc.nat(3), exhausted: fc.boolean() }),
);

type State = 'running' | 'clean' | 'superseded' | 'system_error' | 'lost';

/** What must be true, in a dozen lines. */
class Model {
  state: 'pending' | 'clean' | 'exhausted' = 'pending';
  passed: boolean | null = null;
  readonly tries: { id: number; state: State }[] = [];

  apply(action: Step): 'clean' | 'open' | 'recorded' | 'superseded' | 'unknown' {
    if (action.do === 'begin') {
      if (this.state === 'clean') return 'clean';
      const mine = this.tries.find((row) => row.id === action.id && row.state === 'running');
      for (const row of this.tries) if (row.state === 'running' && row !== mine) row.state = 'lost';
      if (!mine) this.tries.push({ id: action.id, state: 'running' });
      this.state = 'pending';
      return 'open';
    }
    const mine = this.tries.findLast((row) => row.id === action.id);
    if (!mine) return 'unknown';
    const before = mine.state;
    const open = before === 'running' || before === 'lost';
    if (action.do === 'fault') {
      if (!open) return before === 'system_error' && this.state !== 'clean' ? 'recorded' : 'superseded';
      mine.state = 'system_error';
      if (this.state === 'clean') return 'superseded';
      if (action.exhausted && before === 'running' && this.state === 'pending') this.state = 'exhausted';
      return 'recorded';
    }
    if (!open) return before === 'clean' ? 'recorded' : 'superseded';
    mine.state = this.state === 'clean' ? 'superseded' : 'clean';
    if (this.state === 'clean') return 'superseded';
    this.state = 'clean';
    this.passed = action.do === 'pass';
    return 'recorded';
  }
}

async function real(key: string, action: Step): Promise<string> {
  const [tryNumber, activityAttempt] = place(action.id);
  if (action.do === 'begin') {
    return (await db.ledger.beginTry(begin(key, tryNumber, activityAttempt))).clean ? 'clean' : 'open';
  }
  const finish =
    action.do === 'fault'
      ? faulted(key, tryNumber, activityAttempt, { exhausted: action.exhausted })
      : clean(key, action.do === 'pass', tryNumber, activityAttempt);
  try {
    return await db.ledger.finishTry(finish);
  } catch (error) {
    if ((error as { code?: string }).code === 'not_found') return 'unknown';
    throw error;
  }
}

async function fresh(): Promise<{ campaign: string; key: string }> {
  const campaign = `eval/p${++campaigns}`;
  await db.ledger.claimCampaign(claim(campaign));
  const attempt = planned(campaign, 't:1', '0');
  await db.ledger.planAttempts(campaign, [attempt]);
  return { campaign, key: attempt.key };
}

test('one after another: every answer and every row is what the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const { campaign, key } = await fresh();
      const model = new Model();
      for (const action of steps) expect(await real(key, action)).toBe(model.apply(action));
      const rows = await db.ledger.tries(key);
      expect(rows.map(({ state }) => state)).toEqual(model.tries.map(({ state }) => state));
      const [attempt] = await db.ledger.attempts(campaign);
      expect(attempt).toMatchObject({ state: model.state, passed: model.passed });
    }),
    { numRuns: 40 },
  );
});

test('all at once: one result counts, and what counted never changes afterwards', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const { campaign, key } = await fresh();
      await db.ledger.beginTry(begin(key, 1, 1));
      await Promise.all(steps.map((action) => real(key, action)));
      const before = await db.ledger.cleanSummary(key);
      await Promise.all(steps.map((action) => real(key, action)));
      if (before) expect(await db.ledger.cleanSummary(key)).toEqual(before);

      const rows = await db.ledger.tries(key);
      const [attempt] = await db.ledger.attempts(campaign);
      const recorded = rows.filter(({ state }) => state === 'clean');
      expect(recorded).toHaveLength(attempt?.state === 'clean' ? 1 : 0);
      expect(rows.filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(1);
      const { planned: all, clean: done, pending, exhausted } = await db.ledger.counts(campaign);
      expect(all).toBe(done + pending + exhausted);
    }),
    { numRuns: 40 },
  );
});
