/** The rule of a provider's limit: no window ever holds more, whoever asks when; and PostgreSQL executes this rule. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPgRates } from '../../activities/ledger/rates.js';
import {
  type BucketShape,
  type BucketState,
  bucketShape,
  EMPTY_HISTORY,
  settle,
  take,
} from '../../core/limits/bucket.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const WINDOW_MS = 60_000;
const WINDOW_NS = WINDOW_MS * 1e6;
const HORIZON_NS = 2e8;

/** Most cost within any closed window that begins with a start. */
function fullestWindow(starts: readonly { readonly at: number; readonly cost: number }[]): number {
  return Math.max(
    0,
    ...starts.map(({ at: from }) =>
      starts
        .filter(({ at }) => at >= from && at <= from + WINDOW_NS)
        .reduce((sum, { cost }) => sum + cost, 0),
    ),
  );
}

const kind = fc.constantFrom('requests' as const, 'tokens' as const);
/** Pauses between questions, ns: bursts, trickles and idle minutes. */
const pause = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2e9 }), fc.integer({ min: 0, max: 90e9 }));

test('no window holds more than the limit, whatever is asked for and when', () => {
  fc.assert(
    fc.property(
      kind,
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.record({ pause, share: fc.double({ min: 0, max: 1, noNaN: true }) }), { maxLength: 80 }),
      (which, limit, asks) => {
        const shape = bucketShape(which, limit, WINDOW_MS);
        let state: BucketState = EMPTY_HISTORY;
        let now = 1e15;
        const starts = asks.map((ask) => {
          now += ask.pause;
          const cost = Math.max(1, Math.floor(ask.share * (which === 'tokens' ? limit : shape.burst)));
          const taken = take(state, shape, cost, now);
          state = taken.state;
          return { at: taken.startNs, cost };
        });
        expect(fullestWindow(starts)).toBeLessThanOrEqual(limit);
      },
    ),
    { numRuns: 300 },
  );
});

test('what is given back may be used again, and still no window holds more', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 2_000 }),
      fc.array(
        fc.record({
          pause,
          share: fc.double({ min: 0, max: 1, noNaN: true }),
          used: fc.double({ min: 0, max: 1, noNaN: true }),
          later: fc.integer({ min: 0, max: 6 }),
        }),
        { maxLength: 60 },
      ),
      (limit, asks) => {
        const shape = bucketShape('tokens', limit, WINDOW_MS);
        let state: BucketState = EMPTY_HISTORY;
        let now = 1e15;
        const open: { due: number; epoch: number; difference: number }[] = [];
        const starts = asks.map((ask, index) => {
          now += ask.pause;
          for (const each of open.filter(({ due }) => due === index)) {
            state = settle(state, shape, each.difference, each.epoch);
          }
          const cost = Math.max(1, Math.floor(ask.share * limit));
          const used = Math.floor(cost * ask.used);
          const taken = take(state, shape, cost, now);
          state = taken.state;
          open.push({ due: index + 1 + ask.later, epoch: state.epoch, difference: used - cost });
          return { at: taken.startNs, cost: used };
        });
        expect(fullestWindow(starts)).toBeLessThanOrEqual(limit);
      },
    ),
    { numRuns: 300 },
  );
});

test('what comes back when its bucket has been full meanwhile is worth nothing', () => {
  const shape = bucketShape('tokens', 1_000, WINDOW_MS);
  const early = take(EMPTY_HISTORY, shape, 1_000, 1e15).state;
  const later = take(early, shape, 10, 1e15 + 3 * WINDOW_NS).state;
  expect(settle(later, shape, -1_000, early.epoch)).toEqual(later);
  expect(settle(later, shape, -10, later.epoch).fullNs).toBe(1e15 + 3 * WINDOW_NS);
  expect(settle(later, shape, 500, early.epoch).fullNs).toBeGreaterThan(later.fullNs);
});

test('under load nearly the whole limit is used, and who asks first starts first', () => {
  for (const limit of [1, 2, 7, 60, 500, 10_000]) {
    const shape = bucketShape('requests', limit, WINDOW_MS);
    let state: BucketState = EMPTY_HISTORY;
    const starts: number[] = [];
    const count = Math.min(5 * limit, 20_000);
    for (let index = 0; index < count; index += 1) {
      const taken = take(state, shape, 1, 0);
      state = taken.state;
      starts.push(taken.startNs);
    }
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    const minutes = starts.at(-1)! / WINDOW_NS;
    if (limit >= 60) expect(count / minutes).toBeGreaterThan(0.9 * limit);
  }
});

describe('in PostgreSQL', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await startTestDatabase();
  });
  afterAll(() => db.stop());

  const ask = fc.record({
    pause: fc.integer({ min: 0, max: 20e9 }),
    tokens: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 8 }),
    unsent: fc.integer({ min: 0, max: 2 }),
    used: fc.double({ min: 0, max: 1.2, noNaN: true }),
    keep: fc.integer({ min: 0, max: 4 }),
  });

  test('the function books what the rule says', async () => {
    const rates = createPgRates(db.pool);
    const limits = { requestsPerMinute: 40, tokensPerMinute: 1_000 };
    const requests = bucketShape('requests', 40, WINDOW_MS);
    const tokens = bucketShape('tokens', 1_000, WINDOW_MS);
    let provider = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(ask, { maxLength: 25 }), async (asks) => {
        provider += 1;
        const name = `p${provider}`;
        await rates.set(name, limits, 'test');
        let state = { requests: EMPTY_HISTORY, tokens: EMPTY_HISTORY };
        let now = 0;
        const open: [number, number, number, number][] = [];
        for (const { pause: later, tokens: wanted, unsent, used, keep } of asks) {
          now += later;
          const settled = open.length > keep ? open.splice(0) : [];
          const model = modelTake(state, { requests, tokens }, wanted, settled, now);
          const { rows } = await db.pool.query<Record<string, string | number>>(
            'SELECT granted, booked_tokens, wait_ms, request_epoch, token_epoch FROM take_rate($1, $2, $3, $4, $5, $6)',
            [name, 'me', wanted, JSON.stringify(settled), HORIZON_NS, now],
          );
          const row = rows[0]!;
          expect([
            row.granted,
            Number(row.booked_tokens),
            Number(row.request_epoch),
            Number(row.token_epoch),
          ]).toEqual([model.granted, model.booked, model.state.requests.epoch, model.state.tokens.epoch]);
          expect(Number(row.wait_ms)).toBeCloseTo(model.waitMs, 3);
          state = model.state;
          if (model.granted === 0) continue;
          const difference = Math.round(model.booked * used) - model.booked;
          open.push([state.requests.epoch, state.tokens.epoch, Math.min(unsent, model.granted), difference]);
        }
      }),
      { numRuns: 40 },
    );
  });
});

/** `take_rate`, made of the rule's two functions. */
function modelTake(
  before: { readonly requests: BucketState; readonly tokens: BucketState },
  shapes: { readonly requests: BucketShape; readonly tokens: BucketShape },
  wanted: readonly number[],
  settled: readonly (readonly [number, number, number, number])[],
  now: number,
) {
  let { requests, tokens } = before;
  for (const [requestEpoch, tokenEpoch, unsent, difference] of settled) {
    requests = settle(requests, shapes.requests, -unsent, requestEpoch);
    tokens = settle(tokens, shapes.tokens, difference, tokenEpoch);
  }
  let granted = 1;
  let asked = wanted[0]!;
  while (granted < wanted.length && granted < shapes.requests.burst) {
    if (asked + wanted[granted]! > shapes.tokens.burst) break;
    asked += wanted[granted]!;
    granted += 1;
  }
  const booked = Math.min(asked, 1_000);
  const alone = [take(requests, shapes.requests, granted, now), take(tokens, shapes.tokens, booked, now)];
  // Both at the later of the two starts.
  const start = Math.max(...alone.map(({ startNs }) => startNs));
  if (start > now + HORIZON_NS) {
    return { granted: 0, booked: 0, waitMs: (start - HORIZON_NS - now) / 1e6, state: { requests, tokens } };
  }
  return {
    granted,
    booked,
    waitMs: (start - now) / 1e6,
    state: {
      requests: take(requests, shapes.requests, granted, start).state,
      tokens: take(tokens, shapes.tokens, booked, start).state,
    },
  };
}
