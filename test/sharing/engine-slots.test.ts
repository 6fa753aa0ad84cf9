/** Slots of a worker with containers: never more than there are, none while the engine is away, all back at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { engineSlots } from '../../workers/engine-slots.js';

type Supplier = ReturnType<typeof engineSlots>;
const context = {} as Parameters<Supplier['reserveSlot']>[0];
const never = new AbortController().signal;
const release = (supplier: Supplier): void => supplier.releaseSlot({ permit: {} });

test('whatever is asked for, given back and given up, there are never more in use than there are', async () => {
  const acts = fc.array(fc.constantFrom('ask', 'release', 'give up'), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), acts, async (slots, steps) => {
      const supplier = engineSlots({ slots, answers: async () => true, say: () => undefined });
      let inUse = 0;
      let asked = 0;
      const waiting: AbortController[] = [];
      for (const step of steps) {
        if (step === 'ask') {
          asked++;
          const controller = new AbortController();
          waiting.push(controller);
          void supplier
            .reserveSlot(context, controller.signal)
            .then(() => inUse++)
            .catch((error: unknown) => {
              expect(error).toBe(controller.signal.reason);
              asked--;
            })
            .finally(() => waiting.splice(waiting.indexOf(controller), 1));
        } else if (step === 'release' && inUse > 0) {
          inUse--;
          asked--;
          release(supplier);
        } else if (step === 'give up') waiting.at(-1)?.abort(new Error('given up'));
        await sleep(0);
        expect(inUse).toBe(Math.min(slots, asked));
      }
    }),
    { numRuns: 60 },
  );
});

test('none while the engine does not answer, and both are said once', async () => {
  let there = false;
  const said: string[] = [];
  const supplier = engineSlots({ slots: 2, answers: async () => there, say: (line) => void said.push(line) });
  let taken = 0;
  const all = [1, 2, 3].map(() => supplier.reserveSlot(context, never).then(() => taken++));
  await sleep(20);
  expect(taken).toBe(0);
  there = true;
  await Promise.all(all.slice(0, 2));
  expect(taken).toBe(2);
  expect(said).toEqual([
    'the Docker engine does not answer: no episodes are taken until it does',
    'the Docker engine answers again',
  ]);
  release(supplier);
  await all[2];
});

test('a worker that drains while its engine is away gets its slots back', async () => {
  const supplier = engineSlots({ slots: 1, answers: async () => false, say: () => undefined });
  const controller = new AbortController();
  const asked = supplier.reserveSlot(context, controller.signal);
  await sleep(5);
  controller.abort(new Error('shutting down'));
  await expect(asked).rejects.toThrow('shutting down');
});
