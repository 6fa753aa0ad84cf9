/**
 * Who needs the stack: `up` until `down`, and every `demo` while it runs. Whoever leaves last stops it, so two demos
 * at once, or a demo beside an `up`, never take the stack from each other.
 *
 * One file each under `holders/`. A demo that was killed is known by its process and start time, and forgotten.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeAtomic } from '../setup/files.mjs';
import { withLock } from '../setup/lock.mjs';
import { asProblem, SetupProblem } from '../setup/problem.mjs';
import { isAlive, type ProcessId, self } from '../setup/process.mjs';
import { homeFolder } from '../setup/root.mjs';
import { stopStack } from './stop.js';

export type Holder = 'up' | 'demo';

const folder = (home: string): string => join(home, 'holders');
const ownFile = (home: string): string => join(folder(home), `demo-${process.pid}.json`);
const upFile = (home: string): string => join(folder(home), 'up.json');

/** Called under `up.lock`, so that nobody stops the stack between this and its start. */
export function hold(home: string, holder: Holder): void {
  writeAtomic(holder === 'up' ? upFile(home) : ownFile(home), JSON.stringify(self()));
}

/** `down`: from here on only running demos need the stack. */
export function forgetUp(home: string): void {
  rmSync(upFile(home), { force: true });
}

/** Everybody but this process, in words for the person at the terminal. */
export function otherHolders(home = homeFolder()): readonly string[] {
  return filesIn(folder(home)).flatMap((name) => {
    const file = join(folder(home), name);
    if (file === ownFile(home)) return [];
    if (file === upFile(home)) return ['"steadfast up"'];
    const id = readJson(file) as ProcessId | undefined;
    if (id && isAlive(id)) return [`another demo (process ${id.pid})`];
    rmSync(file, { force: true });
    return [];
  });
}

/** Stops the stack unless others need it; returns those. */
export async function leaveStack(home = homeFolder()): Promise<readonly string[]> {
  const leave = async (): Promise<readonly string[]> => {
    rmSync(ownFile(home), { force: true });
    const others = otherHolders(home);
    if (others.length === 0) await stopStack({ home });
    return others;
  };
  try {
    return await withLock(join(home, 'up.lock'), leave);
  } catch (error) {
    // No lock can be written on a disk that is full: leaving must be possible all the same.
    if (!(asProblem(error, home) instanceof SetupProblem)) throw error;
    return leave();
  }
}

function filesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
