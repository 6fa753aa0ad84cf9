/**
 * CPU time of processes with all that they have started, from `/proc` (Linux only).
 *
 * A process that has ended counts for the one that waited for it: its time is in that one's `cutime` and `cstime`. So
 * the sum over the living processes below a root loses nothing as long as the root lives.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { UsageError } from '../../core/faults.js';

/** Kernel ticks a second as `/proc` counts them: 100 on every Linux that Node runs on. */
const TICKS = 100;

interface ProcessTime {
  readonly parent: number;
  /** User and system time of the process and of its ended children, seconds. */
  readonly seconds: number;
}

export type ProcessTable = ReadonlyMap<number, ProcessTime>;

/** All processes of the machine. Throws `UsageError` where there is no `/proc`. */
export function readProcesses(): ProcessTable {
  const table = new Map<number, ProcessTime>();
  for (const entry of procEntries()) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = readIfThere(`/proc/${entry}/stat`);
    if (stat === undefined) continue;
    // After the command in parentheses: state is field 3, parent 4, utime to cstime 14 to 17.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    table.set(Number(entry), { parent: Number(fields[1]), seconds: ticks / TICKS });
  }
  return table;
}

/** The root and everything below it. */
export function treeOf(root: number, table: ProcessTable): readonly number[] {
  const children = new Map<number, number[]>();
  for (const [pid, { parent }] of table) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found: number[] = [];
  const queue = table.has(root) ? [root] : [];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    found.push(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return found;
}

/** CPU-seconds of the root and everything below it; 0 when it does not exist. */
export function treeSeconds(root: number, table: ProcessTable): number {
  return treeOf(root, table).reduce((sum, pid) => sum + (table.get(pid)?.seconds ?? 0), 0);
}

/**
 * Memory of a process in bytes: its proportional share where the kernel tells (pages shared by n processes count a
 * n-th), else all that is resident. 0 when it has ended meanwhile.
 */
export function memoryOf(pid: number): { readonly bytes: number; readonly kind: 'Pss' | 'Rss' } {
  const rollup = readIfThere(`/proc/${pid}/smaps_rollup`);
  const pss = rollup && /^Pss:\s+(\d+) kB/m.exec(rollup)?.[1];
  if (pss) return { bytes: Number(pss) * 1024, kind: 'Pss' };
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readIfThere(`/proc/${pid}/status`) ?? '')?.[1];
  return { bytes: Number(resident ?? 0) * 1024, kind: 'Rss' };
}

function procEntries(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch (error) {
    throw new UsageError('benchmark', 'Linux, where /proc tells CPU time', (error as Error).message);
  }
}

/** Undefined for a process that has ended, or that is not ours to look at. */
function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}
