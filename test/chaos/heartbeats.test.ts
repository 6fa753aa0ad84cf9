/** A worker that dies is missed by its heartbeats, whatever it was doing (found by chaos: seed 3, a killed `buildBatch`). */
import { expect, it } from 'vitest';
import { ACTIVITIES, HEARTBEAT } from '../../temporal.config.js';
import { heartbeats } from '../../workers/heartbeats.js';

it('every kind of activity has a heartbeat timeout that leaves room for a missed beat', () => {
  for (const [kind, { heartbeatTimeout }] of Object.entries(ACTIVITIES)) {
    expect([kind, heartbeatTimeout]).toEqual([kind, HEARTBEAT.timeoutMs]);
  }
  expect(HEARTBEAT.timeoutMs).toBeGreaterThan(3 * HEARTBEAT.everyMs);
});

it('an activity is heard of until it ends, whether it returns or throws', async () => {
  let beats = 0;
  const { inbound } = heartbeats({ heartbeat: () => void beats++ }, 5);
  const input = { args: [], headers: {} };
  const heardTwice = async () => {
    const before = beats;
    while (beats < before + 2) await new Promise((done) => setTimeout(done, 1));
    return 'done';
  };
  expect(await inbound?.execute?.(input, heardTwice)).toBe('done');
  const failing = async () => {
    await heardTwice();
    throw new Error('failed');
  };
  await expect(inbound?.execute?.(input, failing)).rejects.toThrow('failed');
  const after = beats;
  await new Promise((done) => setTimeout(done, 30));
  expect(beats).toBe(after);
});
