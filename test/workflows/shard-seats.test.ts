/** How shards share a campaign's lanes, whatever begins, ends and changes. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ShardSeats } from '../../workflows/shard-seats.js';

const MOST = 4;

it('the shares make up the lanes, from the first shard to the last', () => {
  let waiting = 6;
  const seats = new ShardSeats(MOST, () => waiting);
  const begin = () => {
    waiting--;
    return seats.take();
  };
  const shares = (taken: readonly number[], lanes: number) => taken.map((seat) => seats.share(lanes, seat));
  expect(seats.width(48)).toBe(4);
  expect(seats.width(2)).toBe(2);
  // The first does not take the lanes of those that begin after it.
  const first = begin();
  expect(shares([first], 50)).toEqual([13]);
  const taken = [first, begin(), begin(), begin()];
  expect(shares(taken, 50)).toEqual([13, 13, 12, 12]);
  seats.leave(1);
  expect(begin()).toBe(1);
  seats.leave(0);
  expect(begin()).toBe(0);
  expect(waiting).toBe(0);
  expect(shares([0, 1, 2, 3], 2)).toEqual([1, 1, 0, 0]);
  seats.leave(1);
  expect(shares([0, 2, 3], 2)).toEqual([1, 1, 0]);
  seats.leave(0);
  seats.leave(3);
  expect(shares([2], 2)).toEqual([2]);
});

it('never more than the lanes in sum, and at the same lanes no share ever shrinks', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.nat(3), { maxLength: 30 }),
      (lanes, shards, ends) => {
        let waiting = shards;
        const seats = new ShardSeats(MOST, () => waiting);
        const taken = new Set<number>();
        let before = new Map<number, number>();
        const look = () => {
          const now = new Map([...taken].map((seat) => [seat, seats.share(lanes, seat)]));
          expect([...now.values()].reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(lanes);
          for (const [seat, share] of now) expect(share).toBeGreaterThanOrEqual(before.get(seat) ?? 1);
          before = now;
        };
        const fill = () => {
          while (waiting > 0 && taken.size < seats.width(lanes)) {
            waiting--;
            taken.add(seats.take());
            look();
          }
        };
        fill();
        for (const end of ends) {
          const seat = [...taken][end % Math.max(1, taken.size)];
          if (seat === undefined) break;
          taken.delete(seat);
          seats.leave(seat);
          before.delete(seat);
          fill();
          look();
        }
        if (waiting === 0 && taken.size > 0) {
          expect([...before.values()].reduce((sum, share) => sum + share, 0)).toBe(lanes);
        }
      },
    ),
  );
});
