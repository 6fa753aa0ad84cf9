import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalsOf, stepTicks } from '../../activities/report/charts/axis.js';
import { shade } from '../../activities/report/charts/grid.js';
import { passBins, passesChart } from '../../activities/report/charts/passes.js';
import { seriesChart } from '../../activities/report/charts/series.js';
import { bandHistogramSvg } from '../../activities/report/histogram.js';
import type { TaskScore } from '../../core/report-data.js';
import { demoReport } from './fixture.js';

describe('axes', () => {
  it('ticks are whole steps, rising, from the first to the last, few', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 0, max: 20_000 }), (first, span) => {
        const ticks = stepTicks(first, first + span);
        expect(ticks[0]).toBe(first);
        expect(ticks.at(-1)).toBe(first + span);
        expect(
          ticks.every((tick, at) => Number.isInteger(tick) && (at === 0 || tick > (ticks[at - 1] ?? 0))),
        ).toBe(true);
        expect(ticks.length).toBeLessThanOrEqual(7);
      }),
    );
  });

  it('labels have the decimals that tell ticks apart', () => {
    expect(decimalsOf([0, 0.05])).toBe(2);
    expect(decimalsOf([0, 5])).toBe(0);
    expect(decimalsOf([0, 0.0005], 100)).toBe(2);
    expect(decimalsOf([3])).toBe(0);
  });
});

describe('tasks by passes', () => {
  it('bins cover every count once, with 0 and k alone, whatever k is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), (k) => {
        const bins = passBins(k);
        const covered = bins.flatMap((bin) =>
          Array.from({ length: bin.high - bin.low + 1 }, (_, at) => bin.low + at),
        );
        expect(covered).toEqual(Array.from({ length: k + 1 }, (_, at) => at));
        expect([bins[0]?.high, bins.at(-1)?.low]).toEqual([0, k]);
        expect(bins.length).toBeLessThanOrEqual(23);
      }),
    );
  });

  it('full colour is for tasks whose every attempt passed, and only for them', () => {
    const task = (passed: number, attempts: number): Pick<TaskScore, 'passed' | 'attempts'> => ({
      passed,
      attempts,
    });
    expect([
      shade(task(0, 20)),
      shade(task(1, 20)),
      shade(task(19, 20)),
      shade(task(20, 20)),
      shade(task(0, 0)),
    ]).toEqual([0, 1, 4, 5, 0]);
  });

  it('every bar says what it counts', () => {
    const { before, after } = demoReport();
    const { text } = passesChart('p', 20, before?.tasks ?? null, after?.tasks ?? null);
    const counted = [...text.matchAll(/after: (\d+) tasks? passed/g)].reduce(
      (sum, match) => sum + Number(match[1]),
      0,
    );
    expect(counted).toBe(48);
  });
});

describe('a series', () => {
  const options = {
    id: 'c',
    title: 'Reward',
    about: 'mean reward',
    mark: 'line',
    fromZero: false,
    format: String,
    tick: String,
  } as const;

  it('draws whatever was recorded: nothing, one step, gaps, equal values', () => {
    expect(seriesChart([], options).text).toContain('not recorded');
    expect(seriesChart([{ step: 3, value: null }], options).text).toContain('not recorded');
    for (const values of [[0], [0.5, null, 0.5], [2, 2, 2], [-1, 0, 1e9], [Number.NaN, 1]]) {
      for (const mark of ['line', 'bars'] as const) {
        const { text } = seriesChart(
          values.map((value, at) => ({ step: at + 1, value })),
          { ...options, mark },
        );
        expect(text).not.toMatch(/NaN|Infinity|undefined/);
        expect(text).toContain('<title id="c-t">Reward</title>');
      }
    }
  });
});

describe('the histogram as a file', () => {
  it('is one SVG with every band, and escapes its title', () => {
    const svg = bandHistogramSvg(demoReport().probe?.bands ?? [], 'a < b & c');
    expect(svg).toMatch(/^<svg xmlns=/);
    expect(svg).toContain('a &lt; b &amp; c');
    expect(svg.match(/<rect class="(kept|out)"/g)).toHaveLength(5);
    expect(bandHistogramSvg([], 'none')).not.toMatch(/NaN|Infinity/);
  });
});
