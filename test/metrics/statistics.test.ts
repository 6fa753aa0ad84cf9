import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passAtK, passPowerK } from '../../core/metrics/pass-k.js';
import { randomStream } from '../../core/random.js';
import { bootstrapMean, clusteredRate, pairedMean, wilson } from '../../core/stats/intervals.js';
import { jeffreysPosterior } from '../../core/stats/posterior.js';

/** All subsets of `size` indexes below `total`. */
function subsets(total: number, size: number): number[][] {
  if (size === 0) return [[]];
  const all: number[][] = [];
  for (let last = size - 1; last < total; last++) {
    for (const smaller of subsets(last, size - 1)) all.push([...smaller, last]);
  }
  return all;
}

const counts = fc
  .record({ attempts: fc.integer({ min: 1, max: 8 }), share: fc.nat(100), k: fc.integer({ min: 1, max: 8 }) })
  .map(({ attempts, share, k }) => ({
    attempts,
    passed: Math.round((attempts * share) / 100),
    k: Math.min(k, attempts),
  }));

describe('pass@k and pass^k', () => {
  it('are the shares of all k-subsets of the attempts', () => {
    fc.assert(
      fc.property(counts, ({ attempts, passed, k }) => {
        const draws = subsets(attempts, k);
        const share = (holds: (draw: number[]) => boolean) => draws.filter(holds).length / draws.length;
        const once = share((draw) => draw.some((attempt) => attempt < passed));
        const always = share((draw) => draw.every((attempt) => attempt < passed));
        expect(passAtK(passed, attempts, k)).toBeCloseTo(once, 12);
        expect(passPowerK(passed, attempts, k)).toBeCloseTo(always, 12);
      }),
    );
  });

  it('hold at the ends and for many attempts', () => {
    expect(passAtK(0, 20, 20)).toBe(0);
    expect(passAtK(1, 20, 20)).toBe(1);
    expect(passPowerK(19, 20, 20)).toBe(0);
    expect(passPowerK(20, 20, 20)).toBe(1);
    expect(passAtK(1, 5000, 1)).toBeCloseTo(1 / 5000, 12);
    expect(() => passAtK(1, 4, 5)).toThrow('1 <= k <= attempts');
    expect(() => passPowerK(5, 4, 1)).toThrow('found 5 of 4');
  });
});

describe('intervals', () => {
  it('cluster pass@1 by task: attempts that agree within a task add no certainty', () => {
    const alike = Array.from({ length: 40 }, (_, task) => ({ passed: task % 2 ? 20 : 0, attempts: 20 }));
    const single = alike.map(({ passed }) => ({ passed: passed / 20, attempts: 1 }));
    expect(clusteredRate(alike).standardError).toBeCloseTo(clusteredRate(single).standardError ?? 0, 12);
    // sqrt(0.25 / 39): the spread of 40 halves.
    expect(clusteredRate(alike).standardError).toBeCloseTo(Math.sqrt(0.25 / 39), 12);
    expect(clusteredRate(alike).high).toBeCloseTo(0.5 + 2.0226909 * Math.sqrt(0.25 / 39), 6);
  });

  it('leave doubt where all tasks agree, and say nothing of a single task', () => {
    const none = Array.from({ length: 48 }, () => ({ passed: 0, attempts: 20 }));
    expect(clusteredRate(none)).toMatchObject({ value: 0, low: 0, high: expect.closeTo(0.0741, 4) });
    expect(bootstrapMean([1, 1, 1, 1], 'k/k')).toMatchObject({
      value: 1,
      high: 1,
      low: expect.closeTo(0.5101, 4),
    });
    expect(pairedMean([0, 0, 0, 0], 't', 'x')).toMatchObject({ value: 0, high: expect.closeTo(0.4899, 4) });
    expect(clusteredRate([{ passed: 3, attempts: 4 }])).toEqual({
      value: 0.75,
      low: null,
      high: null,
      standardError: null,
    });
    expect(bootstrapMean([], 'k/k')).toEqual({ value: 0, low: null, high: null });
  });

  it('bootstrap the same way in any order, around the value', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 1), { minLength: 2, maxLength: 40 }), (values) => {
        const { value, low, high } = bootstrapMean(values, 'k/k');
        expect(low).toBeLessThanOrEqual(value);
        expect(high).toBeGreaterThanOrEqual(value);
        expect(bootstrapMean([...values].reverse(), 'k/k')).toEqual({ value, low, high });
      }),
      { numRuns: 30 },
    );
  });

  it('hold the true rate about 95 % of the time', () => {
    // 300 worlds of 60 tasks; each task has its own rate, so attempts are far from independent.
    let inside = 0;
    let insideBootstrap = 0;
    const stream = randomStream('coverage of intervals');
    const uniform = () => stream.uint32() / 2 ** 32;
    for (let world = 0; world < 300; world++) {
      const clusters = Array.from({ length: 60 }, () => {
        const rate = uniform();
        const passed = Array.from({ length: 8 }, () => Number(uniform() < rate)).reduce((a, b) => a + b, 0);
        return { passed, attempts: 8 };
      });
      const clustered = clusteredRate(clusters);
      if (clustered.low !== null && clustered.high !== null && clustered.low <= 0.5 && clustered.high >= 0.5)
        inside += 1;
      if (world >= 100) continue;
      const boot = bootstrapMean(
        clusters.map(({ passed }) => passed / 8),
        'coverage',
      );
      if (boot.low !== null && boot.high !== null && boot.low <= 0.5 && boot.high >= 0.5)
        insideBootstrap += 1;
    }
    expect(inside / 300).toBeGreaterThan(0.91);
    expect(inside / 300).toBeLessThan(0.99);
    expect(insideBootstrap).toBeGreaterThanOrEqual(88);
  });

  it("know Wilson's and the posterior's textbook values", () => {
    expect(wilson(5, 10)).toEqual({ low: expect.closeTo(0.236593, 6), high: expect.closeTo(0.763407, 6) });
    const posterior = jeffreysPosterior(3, 8);
    expect([posterior.alpha, posterior.beta]).toEqual([3.5, 5.5]);
    expect(posterior.below(0.4) - posterior.below(0.08)).toBeCloseTo(0.539624754638, 8);
    expect(() => jeffreysPosterior(9, 8)).toThrow('found 9 of 8');
  });
});
