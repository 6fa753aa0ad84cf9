import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inLanes } from '../../workflows/lanes.js';

describe('inLanes', () => {
  it('runs every item once and never more than the width at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3), { maxLength: 30 }),
        fc.integer({ min: 1, max: 6 }),
        async (delays, width) => {
          let next = 0;
          let running = 0;
          let most = 0;
          const seen: number[] = [];
          await inLanes(
            width,
            () => (next < delays.length ? next++ : undefined),
            async (item) => {
              most = Math.max(most, ++running);
              await sleep(delays[item]);
              running--;
              seen.push(item);
            },
          );
          expect(seen.sort((a, b) => a - b)).toEqual(delays.map((_, index) => index));
          expect(most).toBeLessThanOrEqual(width);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('takes work that its work begets', async () => {
    const queue = [3];
    const done: number[] = [];
    await inLanes(
      2,
      () => queue.shift(),
      async (item) => {
        await sleep(1);
        done.push(item);
        if (item > 0) queue.push(item - 1);
      },
    );
    expect(done).toEqual([3, 2, 1, 0]);
  });

  it('starts nothing new after an error, and rejects with it once the rest has settled', async () => {
    const settled: number[] = [];
    let next = 0;
    const run = inLanes(
      2,
      () => next++,
      async (item) => {
        await sleep(item === 0 ? 1 : 5);
        if (item === 0) throw new Error('first');
        settled.push(item);
      },
    );
    await expect(run).rejects.toThrow('first');
    expect(settled).toEqual([1]);
  });
});
