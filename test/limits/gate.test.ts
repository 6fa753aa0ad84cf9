/** The gate of a process: what waits, what is given back, who is refused. Windows of an hour: who must wait, waits longer than any test. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPgRates } from '../../activities/ledger/rates.js';
import { ProviderGates } from '../../activities/policy/rate-gate.js';
import type { ProviderRow, Rates } from '../../core/limits/rates.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const HOUR_MS = 3_600_000;
const never = (): AbortSignal => new AbortController().signal;

let db: TestDatabase;
let rates: Rates;
beforeAll(async () => {
  db = await startTestDatabase();
  rates = createPgRates(db.pool);
});
afterAll(() => db.stop());

/** The gate of one more process. */
const process = (provider: string) => new ProviderGates(rates, HOUR_MS).of(provider);

async function row(name: string): Promise<ProviderRow> {
  return (await rates.list()).find(({ provider }) => provider === name)!;
}

test('what a reply did not use is free again for other processes', async () => {
  await rates.set('tokens', { tokensPerMinute: 1_000 }, 'test', HOUR_MS);
  const permit = await process('tokens').admit(1_000, never());
  const waiting = process('tokens').admit(100, never());
  await expect.poll(async () => (await row('tokens')).waiting).toBe(1);
  permit.settle(100);
  await waiting;
  expect((await row('tokens')).waiting).toBe(0);
});

test('a reply that used more than was booked is paid by those who come next', async () => {
  await rates.set('debt', { tokensPerMinute: 1_000 }, 'test', HOUR_MS);
  const one = process('debt');
  (await one.admit(10, never())).settle(900);
  // Told when it asks again, or by itself.
  await expect
    .poll(
      async () =>
        (await rates.take({ provider: 'debt', holder: 'x', tokens: [10], settled: [], horizonMs: 0 }))
          ?.granted,
      {
        timeout: 60_000,
        interval: 700,
      },
    )
    .toBe(0);
});

test('who is cancelled leaves at once, and leaves the queue', async () => {
  await rates.set('cancelled', { requestsPerMinute: 1 }, 'test', HOUR_MS);
  const gate = process('cancelled');
  await gate.admit(0, never());
  const cancel = new AbortController();
  const waiting = gate.admit(0, cancel.signal);
  await expect.poll(async () => (await row('cancelled')).waiting).toBe(1);
  cancel.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  await expect.poll(async () => (await row('cancelled')).waiting, { timeout: 60_000 }).toBe(0);
});

test('processes have their turns in the order in which they came', async () => {
  await rates.set('turns', { requestsPerMinute: 2 }, 'test', HOUR_MS);
  const ask = (holder: string) =>
    rates.take({ provider: 'turns', holder, tokens: [0], settled: [], horizonMs: 0 });
  const first = (await ask('z'))!;
  const second = (await ask('z'))!;
  expect([first.granted, second.granted]).toEqual([1, 0]);
  for (const holder of ['a', 'b', 'z', 'a']) expect((await ask(holder))?.granted).toBe(0);
  const { requestEpoch, tokenEpoch } = first;
  // Room for one: it is the first one's, whoever asks before.
  await rates.take({
    provider: 'turns',
    holder: 'none',
    tokens: [],
    settled: [{ requestEpoch, tokenEpoch, unsent: 1, tokens: 0 }],
    horizonMs: 0,
  });
  expect((await ask('b'))?.granted).toBe(0);
  expect((await ask('z'))?.granted).toBe(1);
});

test('a provider without limits is passed at once, and asked about once', async () => {
  let asked = 0;
  const counted: Rates = {
    ...rates,
    take: (question) => {
      asked += 1;
      return rates.take(question);
    },
  };
  const gate = new ProviderGates(counted).of('nobody');
  for (let index = 0; index < 100; index += 1) await gate.admit(1e9, never());
  expect(asked).toBe(1);
});

test('a burst is one question', async () => {
  await rates.set('burst', { requestsPerMinute: 2_000 }, 'test', HOUR_MS);
  let asked = 0;
  const counted: Rates = {
    ...rates,
    take: (question) => {
      asked += 1;
      return rates.take(question);
    },
  };
  const gate = new ProviderGates(counted, HOUR_MS).of('burst');
  await Promise.all(Array.from({ length: 100 }, () => gate.admit(0, never())));
  expect(asked).toBe(1);
});

test('a lease that comes due while the process stands still is given back and asked for again', async () => {
  await rates.set('stopped', { requestsPerMinute: 1_000 }, 'test', 600);
  const answers: number[] = [];
  const stopping: Rates = {
    ...rates,
    take: async (question) => {
      const lease = await rates.take(question);
      answers.push(lease?.granted ?? -1);
      if (answers.length > 1 || !lease) return lease;
      // As SIGSTOP would: it is due in 50 ms, good for 20 more, and nothing happens for 300.
      setTimeout(() => {
        const end = performance.now() + 300;
        while (performance.now() < end);
      }, 1);
      return { ...lease, waitMs: 50 };
    },
  };
  await new ProviderGates(stopping, 600).of('stopped').admit(0, never());
  expect(answers.slice(0, 2)).toEqual([1, 1]);
});

test('two that declare different limits for one key: one clear refusal, and nothing is changed', async () => {
  await rates.declare({ declared: { requestsPerMinute: 500 } }, 'eval/a');
  await rates.declare({ declared: { requestsPerMinute: 500 } }, 'eval/b');
  const other = {
    undeclared: { tokensPerMinute: 5 },
    declared: { requestsPerMinute: 300, tokensPerMinute: 9 },
  };
  await expect(rates.declare(other, 'eval/c')).rejects.toThrow(
    'provider declared: expected 500 requests a minute, as eval/a declared for everybody who uses it, found 300 requests and 9 tokens a minute',
  );
  const names = (await rates.list()).map(({ provider }) => provider);
  expect(names).toContain('declared');
  expect(names).not.toContain('undeclared');
});

test('a lease whose answer was long in coming is given back and asked for again', async () => {
  await rates.set('late', { requestsPerMinute: 40 }, 'test', 6_000);
  let questions = 0;
  const slow: Rates = {
    ...rates,
    async take(question) {
      questions += 1;
      const first = questions === 1;
      const lease = await rates.take(question);
      // Longer than a permit of such a window is good for.
      if (first) await new Promise((resolve) => setTimeout(resolve, 300));
      return lease;
    },
  };
  await new ProviderGates(slow, 6_000).of('late').admit(0, never());
  expect(questions).toBeGreaterThan(1);
});
