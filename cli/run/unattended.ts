/** A local stack whose supervisor was killed: what dies after it stays dead, and a run may wait for that for ever. */

import { isAlive } from '../../infra/setup/process.mjs';
import { readState, type StackInfo, type StackState } from '../../infra/stack/info.js';

/** What is missing and how to go on; nothing while all lives, and where the stack is not a local one. */
export function unattendedTexts({
  home,
  processes,
}: Pick<StackInfo, 'home' | 'processes'>): readonly string[] {
  const state = processes.length > 0 ? readState(home) : undefined;
  return state ? unattendedIn(state, isAlive) : [];
}

export function unattendedIn(
  { supervisor, processes }: Pick<StackState, 'supervisor' | 'processes'>,
  lives: typeof isAlive,
): readonly string[] {
  if (lives(supervisor)) return [];
  const dead = processes.filter((one) => !lives(one)).map(({ name }) => name);
  if (dead.length === 0) return [];
  const gone = dead.length === 1 ? `${dead[0]} is` : `${dead.join(', ')} are`;
  return [
    `${gone} gone, and so is the supervisor that would start ${dead.length === 1 ? 'it' : 'them'} again: ` +
      '"steadfast up" in another terminal does, or Ctrl-C and the same command',
  ];
}
