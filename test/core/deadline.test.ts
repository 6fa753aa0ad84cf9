/** Clocks inside each other, and what holds them: waiting for capacity costs nobody his deadline. */
import { expect, test } from 'vitest';
import { heldMs, holdClocks, withDeadline } from '../../core/deadline.js';

const never = (): AbortSignal => new AbortController().signal;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a clock that is held stands still, and so do those around it', async () => {
  const said = await withDeadline(never(), { ms: 200, what: 'the episode' }, (outer) =>
    withDeadline(outer, { ms: 100, what: 'a message' }, async (inner) => {
      const release = holdClocks(inner);
      await pause(500);
      release();
      release();
      expect(heldMs(inner)).toBeGreaterThan(400);
      expect(heldMs(outer)).toBeGreaterThan(400);
      return 'done';
    }),
  );
  expect(said).toBe('done');
});

test('it runs on from where it stood, and several may hold it', async () => {
  const late = withDeadline(never(), { ms: 50, what: 'a message' }, async (signal) => {
    const [one, other] = [holdClocks(signal), holdClocks(signal)];
    await pause(100);
    one();
    await pause(100);
    other();
    await pause(10_000);
  });
  await expect(late).rejects.toThrow('a message took longer than 0.05 s');
});

test('what is held too long ends too, under its own name', async () => {
  const late = withDeadline(never(), { ms: 60_000, what: 'the episode', heldMs: 50 }, async (signal) => {
    const first = holdClocks(signal);
    await pause(30);
    first();
    holdClocks(signal);
    await pause(10_000);
  });
  await expect(late).rejects.toMatchObject({ kind: 'deadline', code: 'no_capacity' });
});

test('cancellation reaches work whose clock is held', async () => {
  const cancel = new AbortController();
  const ended = withDeadline(cancel.signal, { ms: 1_000, what: 'it' }, async (signal) => {
    holdClocks(signal);
    cancel.abort(new Error('stop'));
    await pause(10_000);
  });
  await expect(ended).rejects.toThrow('stop');
});

test('a signal of another origin has no clock', () => {
  holdClocks(never())();
  expect(heldMs(never())).toBe(0);
});
