/** The supervisor over tiny services: deaths of services and of itself, ports, starts that fail. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isAlive, signal } from '../../infra/setup/process.mjs';
import { readStack, stackFile } from '../../infra/stack/info.js';
import { USUAL_PORTS } from '../../infra/stack/ports.js';
import { stopStack } from '../../infra/stack/stop.js';
import {
  discard,
  killHard,
  processesOf,
  processOf,
  stateWhen,
  temporaryHome,
  tinySupervisor,
} from './harness.js';

let home = '';
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => discard(home));

const ready = (): ReturnType<typeof stateWhen> => stateWhen(home, ({ state }) => state === 'ready');

it('starts a service that was killed again, at the same address', async () => {
  tinySupervisor(home, { trainer: {}, endpoints: { needs: ['trainer'] } });
  const before = await ready();
  await killHard(processOf(before, 'trainer'));
  const after = await stateWhen(home, (state) => {
    const { pid, state: of } = processOf(state, 'trainer');
    return of === 'ready' && pid !== processOf(before, 'trainer').pid;
  });
  expect(processOf(after, 'trainer').restarts).toBe(1);
  expect(after.trainerUrl).toBe(before.trainerUrl);
  expect((await fetch(after.trainerUrl)).ok).toBe(true);
  expect(processOf(after, 'endpoints')).toEqual(processOf(before, 'endpoints'));
});

it('after kill -9 of the supervisor the next one adopts what is current and replaces what is not', async () => {
  tinySupervisor(home, { trainer: {}, endpoints: {}, temporal: {} });
  const before = await ready();
  await killHard(before.supervisor);
  expect(readStack(home)).toBeUndefined();
  // `temporal` is no longer wanted, `endpoints` has new code.
  tinySupervisor(home, { trainer: {}, endpoints: { version: '2' } });
  const after = await stateWhen(
    home,
    ({ state, supervisor }) => state === 'ready' && supervisor.pid !== before.supervisor.pid,
  );
  expect(processOf(after, 'trainer').pid).toBe(processOf(before, 'trainer').pid);
  expect(processOf(after, 'endpoints').pid).not.toBe(processOf(before, 'endpoints').pid);
  expect(isAlive(processOf(before, 'endpoints'))).toBe(false);
  expect(isAlive(processOf(before, 'temporal'))).toBe(false);
  // An adopted process is kept like any other.
  await killHard(processOf(after, 'trainer'));
  await stateWhen(home, (state) => processOf(state, 'trainer').restarts === 1);
});

it('SIGUSR2 ends the supervisor alone, stop ends everything, twice is once', async () => {
  tinySupervisor(home, { trainer: {}, endpoints: { mood: 'stubborn' } });
  const state = await ready();
  signal(state.supervisor, 'SIGUSR2');
  while (isAlive(state.supervisor)) await new Promise((done) => setTimeout(done, 20));
  expect(state.processes.every(isAlive)).toBe(true);
  expect(await stopStack({ home })).toBe(true);
  expect(processesOf(home)).toEqual([]);
  expect(existsSync(stackFile(home))).toBe(false);
  expect(await stopStack({ home })).toBe(false);
});

it('a second supervisor of the same home goes away', async () => {
  tinySupervisor(home, { trainer: {} });
  const state = await ready();
  const second = tinySupervisor(home, { trainer: {} });
  const [code] = await once(second, 'exit');
  expect(code).toBe(0);
  expect(state.processes.every(isAlive)).toBe(true);
});

it('takes a free port where the usual one is taken, and keeps it', async () => {
  const stranger = createServer();
  // Fails when somebody else has it already, which serves as well.
  await new Promise<void>((done) => {
    stranger.once('error', () => done());
    stranger.listen(USUAL_PORTS.trainer, '127.0.0.1', () => done());
  });
  try {
    tinySupervisor(home, { trainer: {} });
    const first = await ready();
    expect(first.trainerUrl).not.toContain(`:${USUAL_PORTS.trainer}`);
    expect((await fetch(first.trainerUrl)).ok).toBe(true);
    await stopStack({ home });
    tinySupervisor(home, { trainer: {} });
    expect((await ready()).trainerUrl).toBe(first.trainerUrl);
  } finally {
    stranger.close();
  }
});

it('a service that cannot start fails the stack with its own last words, and nothing is left', async () => {
  const child = tinySupervisor(home, { trainer: {}, endpoints: { mood: 'dies' } });
  const state = await stateWhen(home, (at) => at.state === 'failed');
  expect(state.problem).toContain('cannot find my slippers');
  expect(state.problem).toContain('endpoints.log');
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).toBe(1);
  expect(processesOf(home)).toEqual([]);
});
