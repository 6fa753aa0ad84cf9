/** A person who watches a run is told when nobody is left to start its services again. */

import { expect, it } from 'vitest';
import { unattendedIn } from '../../cli/run/unattended.js';
import { isAlive, self } from '../../infra/setup/process.mjs';
import type { StackProcess } from '../../infra/stack/info.js';

const living = self();
const dead = { pid: living.pid, started: `${living.started} of an earlier one` };
const process = (name: string, id: typeof living) => ({ name, ...id }) as StackProcess;

it.each([
  ['all live', living, [process('postgres', living)], []],
  ['a dead worker has a supervisor', living, [process('worker-gpu-1', dead)], []],
  ['a dead supervisor has nothing to do', dead, [process('postgres', living)], []],
])('%s: nothing is said', (_, supervisor, processes, said) => {
  expect(unattendedIn({ supervisor, processes }, isAlive)).toEqual(said);
});

it('a supervisor and services are gone: they are named, and the command that goes on', () => {
  const one = [process('postgres', living), process('worker-gpu-1', dead)];
  expect(unattendedIn({ supervisor: dead, processes: one }, isAlive)).toEqual([
    'worker-gpu-1 is gone, and so is the supervisor that would start it again: ' +
      '"steadfast up" in another terminal does, or Ctrl-C and the same command',
  ]);
  const two = [...one, process('temporal', dead)];
  expect(unattendedIn({ supervisor: dead, processes: two }, isAlive)[0]).toMatch(
    /^worker-gpu-1, temporal are gone, and so is the supervisor that would start them again/,
  );
});
