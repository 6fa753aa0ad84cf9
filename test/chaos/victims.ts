/** The processes of a stack, to be killed and stopped: found in `stack.json`, told apart by id and start time. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { isAlive, type ProcessId, signal, startedAt } from '../../infra/setup/process.mjs';
import { readState } from '../../infra/stack/info.js';
import { readProcesses, treeOf } from '../bench/process-times.js';
import { killHard } from '../setup/harness.js';
import type { Victim } from './schedule.js';

const APPEARS_MS = 4_000;
const LOOK_EVERY_MS = 200;

/** SIGKILL; false when nothing of that name lived. A server's own children are left to find out by themselves. */
export async function kill(home: string, victim: Victim): Promise<boolean> {
  const found = (await processesOf(home, victim)).filter(isAlive);
  await Promise.all(found.map(killHard));
  return found.length > 0;
}

/** SIGKILL to every process of that kind at once; the supervisor starts them again. */
export async function killAll(home: string, kind: string): Promise<void> {
  const processes = readState(home)?.processes ?? [];
  const found = processes.filter(({ name, pid }) => name.startsWith(kind) && pid > 0);
  await Promise.all(found.filter(isAlive).map(killHard));
}

export class Paused {
  private readonly stopped = new Set<ProcessId>();

  /** SIGSTOP to the process and all it has started, SIGCONT after `ms`; false when nothing of that name lived. */
  async pause(home: string, victim: Victim, ms: number): Promise<boolean> {
    const table = readProcesses();
    // What a supervisor has started are the other victims.
    const ids = (await processesOf(home, victim))
      .filter(isAlive)
      .flatMap(({ pid }) => (victim === 'supervisor' ? [pid] : treeOf(pid, table)))
      .flatMap((pid) => {
        const started = startedAt(pid);
        return started === undefined ? [] : [{ pid, started }];
      })
      .filter((id) => signal(id, 'SIGSTOP'));
    for (const id of ids) this.stopped.add(id);
    await sleep(ms);
    this.go(ids);
    return ids.length > 0;
  }

  /** Whatever is still stopped goes on. */
  heal(): void {
    this.go([...this.stopped]);
  }

  private go(ids: readonly ProcessId[]): void {
    for (const id of ids) {
      signal(id, 'SIGCONT');
      this.stopped.delete(id);
    }
  }
}

/** Of several workers of one kind only the first living one: the others are there to take over. */
async function processesOf(home: string, victim: Victim): Promise<readonly ProcessId[]> {
  if (victim === 'tool-server') return toolServer(home);
  const state = readState(home);
  if (!state) return [];
  const { supervisor, processes } = state;
  if (victim === 'everything') return [supervisor, ...processes];
  if (victim === 'supervisor') return [supervisor];
  return processes.filter(({ name, pid }) => name.startsWith(victim) && pid > 0).slice(0, 1);
}

/** Sandboxes come and go: the first program of one that exists, waited for. */
async function toolServer(home: string): Promise<readonly ProcessId[]> {
  for (const deadline = Date.now() + APPEARS_MS; Date.now() < deadline; await sleep(LOOK_EVERY_MS)) {
    for (const name of sandboxesIn(home)) {
      for (const pid of await markedProcesses(name)) {
        const started = startedAt(pid);
        if (started !== undefined) return [{ pid, started }];
      }
    }
  }
  return [];
}

function sandboxesIn(home: string): readonly string[] {
  const folder = join(home, 'sandboxes');
  return existsSync(folder) ? readdirSync(folder) : [];
}
