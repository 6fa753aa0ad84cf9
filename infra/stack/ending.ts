/** Ends processes in their order: workers drain first, then what they talk to. */
import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessId, startedAt } from '../setup/process.mjs';
import type { StackProcess } from './info.js';
import { endProcess } from './keeper.js';
import { STACK_MARK } from './service.js';

/** Those of one order together, the next order when they are gone. Idempotent; ids of dead processes do no harm. */
export async function endAll(processes: readonly StackProcess[]): Promise<void> {
  const orders = [...new Set(processes.map((item) => item.stop.order))].sort((a, b) => a - b);
  for (const order of orders) {
    const together = processes.filter((item) => item.stop.order === order && item.pid > 0);
    await Promise.all(together.map((item) => endProcess(item, item.stop)));
  }
}

/**
 * Ends what carries the mark of this home in its environment and is neither a recorded process nor started by one:
 * a service spawned in the instant before its supervisor was killed, tool servers of a killed worker. Linux only
 * (elsewhere the environment of another process cannot be read): returns how many.
 */
export async function endStrays(home: string, recorded: readonly ProcessId[]): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const known = new Set([process.pid, ...recorded.map((item) => item.pid)]);
  const strays = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => isMarked(pid, home) && !hasAncestor(pid, known));
  await Promise.all(
    strays.map(async (pid) => {
      const started = startedAt(pid);
      if (started) await endProcess({ pid, started }, { signal: 'SIGTERM', graceMs: 2_000, order: 0 });
    }),
  );
  return strays.length;
}

function isMarked(pid: number, home: string): boolean {
  return read(`/proc/${pid}/environ`).split('\0').includes(`${STACK_MARK}=${home}`);
}

function hasAncestor(pid: number, known: ReadonlySet<number>): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (known.has(at)) return true;
  return false;
}

function parentOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // Ended meanwhile, or another user's.
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return '';
    throw error;
  }
}
