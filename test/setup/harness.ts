/** Homes, processes and waiting for the tests of the stack. Everything started here is ended here. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessId, signal } from '../../infra/setup/process.mjs';
import { readState, type StackProcess, type StackState } from '../../infra/stack/info.js';
import { stopStack } from '../../infra/stack/stop.js';

// The stack of these tests runs its own database, whatever the other tests use.
delete process.env.DATABASE_URL;

/** A home with a space in its name, so that no test can do without one. */
export function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'steadfast home '));
}

export async function discard(home: string): Promise<void> {
  await stopStack({ home });
  rmSync(home, { recursive: true, force: true });
}

export type TinyServices = Record<string, { mood?: string; version?: string; needs?: string[] }>;

export function tinySupervisor(home: string, services: TinyServices): ChildProcess {
  const main = join(import.meta.dirname, 'fixtures', 'tiny-supervisor.mjs');
  return spawn(process.execPath, [main, home, JSON.stringify(services)], { stdio: 'ignore' });
}

/** The state as soon as `holds`; fails after half a minute, showing the last one. */
export async function stateWhen(home: string, holds: (state: StackState) => boolean): Promise<StackState> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const state = readState(home);
    if (state && holds(state)) return state;
    if (Date.now() > deadline) throw new Error(`not reached; last state: ${JSON.stringify(state, null, 2)}`);
    await sleep(50);
  }
}

export function processOf(state: StackState, name: string): StackProcess {
  const found = state.processes.find((item) => item.name === name);
  if (!found) throw new Error(`no process ${name} in ${JSON.stringify(state.processes)}`);
  return found;
}

/** `kill -9` of exactly this process, and waits until it is gone. */
export async function killHard(id: ProcessId): Promise<void> {
  signal(id, 'SIGKILL');
  while (isAlive(id)) await sleep(10);
}

/** Processes that carry the home in their command line or environment (Linux). */
export function processesOf(home: string): string[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`)} ${read(`/proc/${pid}/environ`)}`)
    .filter((text) => text.includes(home));
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').replaceAll('\0', ' ');
  } catch {
    // The process has ended meanwhile, or is another user's.
    return '';
  }
}
