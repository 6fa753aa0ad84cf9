import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inLanes, type LaneWidth } from '../../workflows/lanes.js';

const fixed = (now: number): LaneWidth => ({ now, changed: new Promise(() => undefined) });

/** Lanes as `Control` has them: a number that is set from outside. */
class Changing implements LaneWidth {
  now: number;
  changed: Promise<void>;
  #reach = (): void => undefined;

  constructor(now: number) {
    this.now = now;
    this.changed = this.#next();
  }

  set(now: number): void {
    this.now = now;
    this.#reach();
    this.changed = this.#next();
  }

  #next(): Promise<void> {
    return new Promise((done) => {
      this.#reach = done;
    });
  }
}

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
            fixed(width),
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
      fixed(2),
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
      fixed(2),
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

  it('under any changes of the width: every item once, and nothing new is started above it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(2), { minLength: 1, maxLength: 30 }),
        fc.array(fc.nat(5), { maxLength: 8 }),
        async (delays, widths) => {
          const width = new Changing(2);
          let next = 0;
          const running = new Set<number>();
          const seen: number[] = [];
          const above: number[] = [];
          const run = inLanes(
            width,
            () => (next < delays.length ? next++ : undefined),
            async (item) => {
              running.add(item);
              if (running.size > width.now) above.push(item);
              await sleep(delays[item]);
              running.delete(item);
              seen.push(item);
            },
          );
          for (const now of widths) {
            await sleep(1);
            width.set(now);
          }
          // Whatever came last may have been none at all.
          width.set(1);
          await run;
          expect(seen.sort((a, b) => a - b)).toEqual(delays.map((_, index) => index));
          expect(above).toEqual([]);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('fills new lanes at once, and takes nothing from those in flight', async () => {
    const width = new Changing(1);
    const gates = Array.from({ length: 5 }, () => new Changing(0));
    const started: number[] = [];
    let next = 0;
    const run = inLanes(
      width,
      () => (next < 5 ? next++ : undefined),
      async (item) => {
        started.push(item);
        await gates[item]!.changed;
      },
    );
    expect(started).toEqual([0]);
    width.set(3);
    await sleep(0);
    expect(started).toEqual([0, 1, 2]);
    width.set(1);
    gates[0]!.set(1);
    gates[1]!.set(1);
    await sleep(0);
    expect(started).toEqual([0, 1, 2]);
    gates[2]!.set(1);
    await sleep(0);
    expect(started).toEqual([0, 1, 2, 3]);
    for (const gate of gates) gate.set(1);
    width.set(5);
    await sleep(0);
    for (const gate of gates) gate.set(1);
    await run;
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });
});
