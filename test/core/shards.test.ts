import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodePositions, shardPositions, shardRanges } from '../../core/shards.js';

describe('shardRanges', () => {
  it('covers every attempt once, in order, none longer than the size', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.integer({ min: 20, max: 2_000 }), (attempts, size) => {
        const ranges = shardRanges(attempts, size);
        let next = 0;
        for (const [from, to] of ranges) {
          expect(from).toBe(next);
          expect(to - from).toBeGreaterThan(0);
          expect(to - from).toBeLessThanOrEqual(size);
          next = to;
        }
        expect(next).toBe(attempts);
      }),
    );
  });

  it('gives the reference evaluation eleven shards', () => {
    expect(shardRanges(507 * 20, 1_000)).toHaveLength(11);
  });
});

describe('positions as hex', () => {
  it('comes back as it went, raised by the offset', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(999)), fc.nat(10_000), (positions, offset) => {
        const sorted = [...positions].sort((a, b) => a - b);
        expect(shardPositions(encodePositions(positions, 1_000), offset)).toEqual(
          sorted.map((p) => p + offset),
        );
      }),
    );
  });

  it('names a full shard in 250 characters', () => {
    expect(
      encodePositions(
        Array.from({ length: 1_000 }, (_, index) => index),
        1_000,
      ),
    ).toBe('f'.repeat(250));
  });

  it('refuses a position outside the shard', () => {
    expect(() => encodePositions([10], 10)).toThrow(RangeError);
  });
});
