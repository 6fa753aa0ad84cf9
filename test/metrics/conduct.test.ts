import fc from 'fast-check';
import { expect, it } from 'vitest';
import { episodeTime, toolUse } from '../../core/metrics/conduct.js';
import { paretoFront } from '../../core/metrics/pareto.js';

it('counts calls over the episodes that recorded them', () => {
  const episode = (toolCalls: number | null, toolErrors: number | null) => ({
    toolCalls,
    toolErrors,
    seconds: null,
  });
  expect(toolUse([episode(3, 1), episode(2, 0), episode(null, null)])).toEqual({
    episodes: 2,
    calls: 5,
    errors: 1,
    episodesWithErrors: 1,
  });
  expect(toolUse([episode(null, null)])).toBeNull();
});

it('gives quantiles of the nearest rank', () => {
  const seconds = Array.from({ length: 100 }, (_, index) => ({ seconds: 100 - index }));
  expect(episodeTime([...seconds, { seconds: null }])).toEqual({
    episodes: 100,
    total: 5050,
    median: 50,
    p95: 95,
    longest: 100,
  });
  expect(episodeTime([{ seconds: null }])).toBeNull();
});

it('the front holds exactly what no other point beats, cheapest first', () => {
  const point = fc.record({ cost: fc.integer({ min: 0, max: 9 }), score: fc.integer({ min: 0, max: 9 }) });
  fc.assert(
    fc.property(fc.array(point, { minLength: 1, maxLength: 20 }), (points) => {
      const front = paretoFront(points);
      expect(front.length).toBeGreaterThan(0);
      for (const one of points) {
        const beaten = points.some(
          (other) =>
            other.cost <= one.cost &&
            other.score >= one.score &&
            (other.cost !== one.cost || other.score !== one.score),
        );
        expect(front.includes(one)).toBe(!beaten);
      }
      for (const [index, one] of front.slice(1).entries()) {
        expect(one.cost).toBeGreaterThanOrEqual(front[index]?.cost as number);
        expect(one.score).toBeGreaterThanOrEqual(front[index]?.score as number);
      }
    }),
  );
});
