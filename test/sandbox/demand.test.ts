/** How many sandboxes stand ready, for any history of asks. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allot } from '../../activities/sandbox/warm/allot.js';
import { Demand, LATELY_MS, mostWithin } from '../../activities/sandbox/warm/demand.js';
import { warmOf } from '../../workers/warm.js';

const times = fc
  .array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 60 })
  .map((all) => all.sort((a, b) => a - b));

function asked(asks: readonly number[], took: readonly number[] = []): Demand {
  const demand = new Demand();
  for (const ms of took) demand.took(ms);
  for (const at of asks) demand.asked(at);
  return demand;
}

describe('demand', () => {
  test('never more than were asked for in the last minute, and none once that is over', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 100_000 }), (asks, later) => {
        const at = (asks.at(-1) ?? 0) + later;
        const wanted = asked(asks).wanted(at);
        const lately = asks.filter((ask) => ask > at - LATELY_MS).length;
        expect(wanted).toBeGreaterThanOrEqual(0);
        expect(wanted).toBeLessThanOrEqual(lately);
        expect(asked(asks).wanted((asks.at(-1) ?? 0) + LATELY_MS)).toBe(0);
      }),
    );
  });

  test('as many as were asked for at once, however many', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), fc.nat(50_000), (count, start) => {
        expect(asked(Array<number>(count).fill(start)).wanted(start + 1)).toBe(count);
      }),
    );
  });

  test('one more ask never lowers it; starts that take longer never do either', () => {
    fc.assert(
      fc.property(times, fc.nat(5_000), fc.nat(30_000), (asks, more, ms) => {
        const last = asks.at(-1) ?? 0;
        const at = last + more;
        expect(asked([...asks, at]).wanted(at)).toBeGreaterThanOrEqual(asked(asks).wanted(at));
        const slower = asked(asks, [1_000 + ms]).wanted(last);
        expect(slower).toBeGreaterThanOrEqual(asked(asks, [1_000]).wanted(last));
      }),
    );
  });

  test('what was asked for once may never come again', () => {
    expect(asked([5]).wanted(6)).toBe(0);
    expect(asked([5, 59_000]).wanted(59_001)).toBe(1);
  });

  test('asking again and again changes nothing', () => {
    fc.assert(
      fc.property(times, (asks) => {
        const demand = asked(asks);
        const at = asks.at(-1) ?? 0;
        expect(demand.wanted(at)).toBe(demand.wanted(at));
      }),
    );
  });
});

describe('places', () => {
  const wants = fc.array(fc.record({ wanted: fc.nat(20), recent: fc.nat(10) }), { maxLength: 6 });
  const total = (all: readonly number[]) => all.reduce((sum, each) => sum + each, 0);

  test('all that may be had are given, to nobody more than it wants', () => {
    fc.assert(
      fc.property(wants, fc.nat(40), (all, most) => {
        const given = allot(all, most);
        expect(total(given)).toBe(Math.min(most, total(all.map(({ wanted }) => wanted))));
        for (const [at, { wanted }] of all.entries()) expect(given[at]).toBeLessThanOrEqual(wanted);
      }),
    );
  });

  test('what was not asked for just now comes after all that was', () => {
    fc.assert(
      fc.property(wants, fc.nat(40), (all, most) => {
        const given = allot(all, most);
        const now = [...all.keys()].filter((at) => all[at]!.recent > 0);
        const others = [...all.keys()].filter((at) => all[at]!.recent === 0);
        if (others.some((at) => given[at]! > 0))
          for (const at of now) expect(given[at]).toBe(all[at]!.wanted);
      }),
    );
  });

  test('a campaign that goes on to its next tools', () => {
    const [before, next] = [
      { wanted: 16, recent: 1 },
      { wanted: 16, recent: 9 },
    ];
    expect(allot([before, next], 10)).toEqual([1, 9]);
  });
});

test('the most within a span: as counted one by one', () => {
  fc.assert(
    fc.property(times, fc.integer({ min: 0, max: 10_000 }), (all, span) => {
      const counted = all.map((from) => all.filter((at) => at >= from && at <= from + span).length);
      expect(mostWithin(all, span)).toBe(Math.max(0, ...counted));
    }),
  );
});

test('the bound: slots, memory and workers that share it', () => {
  const gibibytes = (count: number) => ({ memoryBytes: count * 2 ** 30 });
  expect(warmOf(48, gibibytes(64))).toBe(16);
  expect(warmOf(3, gibibytes(64))).toBe(3);
  expect(warmOf(48, gibibytes(8))).toBe(3);
  expect(warmOf(48, gibibytes(8), 4)).toBe(0);
});
