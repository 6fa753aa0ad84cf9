/** How many episodes a worker plays at a time: from memory and CPUs, never none, or as somebody asks. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ISOLATIONS } from '../../core/sandbox.js';
import { EPISODE_NEEDS, MEMORY_FOR_EPISODES, MOST_SANDBOX_SLOTS } from '../../temporal.config.js';
import { thisMachine } from '../../workers/machine.js';
import { slotOptions, slotsAsked, slotsOf } from '../../workers/slots.js';

const GIB = 2 ** 30;

test.each([
  ['inline', 24, 2, 1, 48],
  ['inline', 24, 16, 1, 48],
  ['inline', 0.25, 2, 1, 12],
  ['process', 24, 2, 1, 48],
  ['process', 4, 2, 1, 16],
  ['docker', 24, 2, 1, 32],
  ['docker', 8, 4, 1, 11],
  ['docker', 24, 2, 2, 16],
  ['docker', 0.5, 1, 1, 1],
] as const)('%s on %d GiB and %d CPUs, %d workers: %d', (isolation, gibibytes, cpus, workers, slots) => {
  expect(slotsOf(isolation, { memoryBytes: gibibytes * GIB, cpus }, workers).slots).toBe(slots);
});

test('all workers of a machine together never plan more than it has, but one each', () => {
  const machine = fc.record({
    memoryBytes: fc.integer({ min: 1, max: 2 ** 40 }),
    cpus: fc.integer({ min: 1, max: 256 }),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...ISOLATIONS),
      machine,
      fc.integer({ min: 1, max: 64 }),
      (isolation, has, workers) => {
        const { slots } = slotsOf(isolation, has, workers);
        const { mebibytes, perCpu } = EPISODE_NEEDS[isolation];
        expect(slots).toBeGreaterThanOrEqual(1);
        expect(slots).toBeLessThanOrEqual(MOST_SANDBOX_SLOTS);
        if (slots === 1) return;
        expect(workers * slots * mebibytes * 2 ** 20).toBeLessThanOrEqual(
          has.memoryBytes * MEMORY_FOR_EPISODES,
        );
        expect(workers * slots).toBeLessThanOrEqual(has.cpus * perCpu);
      },
    ),
  );
});

test('what is asked for wins; what is none is refused', () => {
  const computed = slotsOf('docker', { memoryBytes: 24 * GIB, cpus: 2 });
  expect(slotOptions(undefined, computed)).toEqual({
    options: { maxConcurrentActivityTaskExecutions: 32 },
    said: '32 slots (isolation docker: 2 CPUs × 16, and 18.0 GiB for 544 MiB each; at most 48 a worker)',
  });
  expect(slotOptions(slotsAsked('7'), computed).options).toEqual({ maxConcurrentActivityTaskExecutions: 7 });
  expect(slotsAsked('')).toBeUndefined();
  const byLoad = slotOptions(slotsAsked('resources'), computed);
  expect(byLoad.options.tuner).toMatchObject({ activityTaskSlotSupplier: { type: 'resource-based' } });
  for (const nonsense of ['0', '-1', '1.5', 'all', '1001', '1e9']) {
    expect(() => slotsAsked(nonsense)).toThrow(
      `STEADFAST_SLOTS: expected a whole number from 1 to 1000, or resources, found "${nonsense}"`,
    );
  }
});

test('this machine has some of both', () => {
  const { memoryBytes, cpus } = thisMachine();
  expect(memoryBytes).toBeGreaterThan(2 ** 26);
  expect(cpus).toBeGreaterThanOrEqual(1);
});
