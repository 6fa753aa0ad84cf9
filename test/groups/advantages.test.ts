import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupAdvantages, isZeroVariance } from '../../core/advantages.js';

describe('groupAdvantages', () => {
  it('divides by the sample standard deviation plus 1e-6', () => {
    // 2 of 8 passed: mean 0.25, variance (2 × 0.75² + 6 × 0.25²) / 7 = 1.5 / 7.
    const deviation = Math.sqrt(1.5 / 7) + 1e-6;
    const advantages = groupAdvantages([1, 0, 0, 0, 1, 0, 0, 0]);
    expect(advantages[0]).toBeCloseTo(0.75 / deviation, 12);
    expect(advantages[1]).toBeCloseTo(-0.25 / deviation, 12);
  });

  it('only centres when normalisation is off', () => {
    expect(groupAdvantages([1, 0, 0, 0], 'none')).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it('gives exact zeros for equal rewards whose mean rounds', () => {
    expect(groupAdvantages(Array.from({ length: 8 }, () => 0.1))).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(groupAdvantages([0.3])).toEqual([0]);
  });

  it('refuses a reward that is not a number', () => {
    expect(() => groupAdvantages([1, Number.NaN])).toThrow('reward of member 1');
  });

  it('sums to zero, keeps the order of rewards and has unit scale', () => {
    const reward = fc.integer({ min: 0, max: 100 }).map((hundredths) => hundredths / 100);
    fc.assert(
      fc.property(fc.array(reward, { minLength: 2, maxLength: 16 }), (rewards) => {
        const advantages = groupAdvantages(rewards);
        const total = advantages.reduce((sum, value) => sum + value, 0);
        expect(Math.abs(total)).toBeLessThan(1e-9);
        if (isZeroVariance(rewards)) return;
        const squares = advantages.reduce((sum, value) => sum + value * value, 0);
        expect(squares / (rewards.length - 1)).toBeCloseTo(1, 2);
        for (const [i, first] of rewards.entries()) {
          for (const [j, second] of rewards.entries()) {
            if (first > second) expect(advantages[i]).toBeGreaterThan(advantages[j] as number);
          }
        }
      }),
    );
  });
});
