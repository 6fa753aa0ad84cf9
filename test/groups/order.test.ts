import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TaskOrder, taskAt } from '../../core/order.js';
import { randomStream } from '../../core/random.js';

const pool = Array.from({ length: 10 }, (_, index) => `shop.py:task_${index}`);

/** The first `count` tasks of a step. */
function stepTasks(order: TaskOrder, cursor: number, count: number): string[] {
  const tasks: string[] = [];
  for (const task of order.distinctFrom(cursor)) {
    tasks.push(task);
    if (tasks.length === count) break;
  }
  return tasks;
}

describe('TaskOrder', () => {
  it('is a concatenation of permutations that differ from epoch to epoch and seed to seed', () => {
    const order = new TaskOrder(pool, 42);
    const epoch = (of: TaskOrder, number: number) =>
      pool.map((_, index) => of.at(number * pool.length + index));
    for (const number of [0, 1, 7]) expect([...epoch(order, number)].sort()).toEqual(pool);
    expect(epoch(order, 0)).not.toEqual(epoch(order, 1));
    expect(epoch(order, 0)).not.toEqual(epoch(new TaskOrder(pool, 43), 0));
  });

  it('never changes between versions: a run that is resumed reads the same order', () => {
    const order = new TaskOrder(pool, 42);
    const digits = Array.from({ length: 20 }, (_, index) => order.at(index).slice(-1)).join('');
    expect(digits).toBe('52169480379475283061');
    const stream = randomStream('golden', 1);
    expect([stream.uint32(), stream.uint32(), stream.uint32()]).toEqual([1538389044, 3178400413, 997144535]);
  });

  it('ignores the order of the pool, and look-ups in any order agree', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(pool, { minLength: 1 }),
        fc.nat(),
        fc.nat(500),
        (tasks, seed, index) => {
          const order = new TaskOrder(tasks, seed);
          order.at(index * 3);
          expect(order.at(index)).toBe(taskAt([...tasks].reverse(), seed, index));
        },
      ),
    );
  });

  it('gives a step distinct tasks, the plain order inside an epoch, and ends with the pool', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(200), (seed, cursor) => {
        const order = new TaskOrder(pool, seed);
        const all = [...order.distinctFrom(cursor)];
        expect([...all].sort()).toEqual(pool);
        const left = pool.length - (cursor % pool.length);
        const plain = Array.from({ length: left }, (_, index) => order.at(cursor + index));
        expect(all.slice(0, left)).toEqual(plain);
      }),
    );
  });

  it('passes over a task at an epoch border, and every task still comes up about equally often', () => {
    const order = new TaskOrder(pool, 5);
    const seen = new Map<string, number>();
    for (let cursor = 0; cursor < 4000; cursor += 4) {
      for (const task of stepTasks(order, cursor, 4)) seen.set(task, (seen.get(task) ?? 0) + 1);
    }
    for (const task of pool) {
      expect(seen.get(task)).toBeGreaterThan(360);
      expect(seen.get(task)).toBeLessThan(440);
    }
  });

  it('shuffles without bias', () => {
    const three = ['a', 'b', 'c'];
    const counts = new Map<string, number>();
    const order = new TaskOrder(three, 'bias');
    for (let epoch = 0; epoch < 6000; epoch++) {
      const permutation = three.map((_, index) => order.at(epoch * 3 + index)).join('');
      counts.set(permutation, (counts.get(permutation) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    // Expected 1,000 each, standard deviation 29.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });

  it('refuses a pool that is empty or names a task twice', () => {
    expect(() => new TaskOrder([], 1)).toThrow('at least one task');
    expect(() => new TaskOrder(['b', 'a', 'b'], 1)).toThrow('"b" more than once');
  });
});
