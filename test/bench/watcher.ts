/** Looks at a stack and the command that runs it once a second: memory of all processes, and their CPU time. */
import { readState } from '../../infra/stack/info.js';
import { memoryOf, type ProcessTable, readProcesses, treeOf } from './process-times.js';

const EVERY_MS = 1_000;

export interface Watched {
  readonly peakBytes: number;
  /** What was resident by service at the peak, bytes. */
  readonly atPeak: Readonly<Record<string, number>>;
  readonly memoryKind: 'Pss' | 'Rss';
  /** CPU-seconds by service, with all that each has started. */
  readonly seconds: Readonly<Record<string, number>>;
  /** One-minute load average, looked at once a second: mean and largest. */
  readonly load: { readonly mean: number; readonly max: number };
  readonly samples: number;
}

/** `command`: pid of the foreground process. Call the result to stop watching; the last look is taken then. */
export function watchStack(home: string, command: number, loadNow: () => number): () => Watched {
  let peakBytes = 0;
  let atPeak: Readonly<Record<string, number>> = {};
  let memoryKind: Watched['memoryKind'] = 'Pss';
  // By root process, since a service may have been started again; a process that is gone keeps its last value.
  const seconds = new Map<string, { name: string; seconds: number }>();
  const loads: number[] = [];

  function look(): void {
    const table = readProcesses();
    const now: Record<string, number> = {};
    let sum = 0;
    for (const [name, root, pids] of rootsOf(home, command, table)) {
      let bytes = 0;
      let cpu = 0;
      for (const pid of pids) {
        const memory = memoryOf(pid);
        memoryKind = memory.kind;
        bytes += memory.bytes;
        cpu += table.get(pid)?.seconds ?? 0;
      }
      now[name] = (now[name] ?? 0) + bytes;
      sum += bytes;
      const id = `${name} ${root}`;
      seconds.set(id, { name, seconds: Math.max(cpu, seconds.get(id)?.seconds ?? 0) });
    }
    if (sum > peakBytes) [peakBytes, atPeak] = [sum, now];
    loads.push(loadNow());
  }

  const timer = setInterval(look, EVERY_MS);
  look();
  return () => {
    clearInterval(timer);
    look();
    const byName: Record<string, number> = {};
    for (const { name, seconds: value } of seconds.values()) byName[name] = (byName[name] ?? 0) + value;
    const mean = loads.reduce((sum, value) => sum + value, 0) / loads.length;
    return {
      peakBytes,
      atPeak,
      memoryKind,
      seconds: byName,
      load: { mean, max: Math.max(...loads) },
      samples: loads.length,
    };
  };
}

/** Name, root and processes of everything that belongs to the run; each process once. */
function rootsOf(
  home: string,
  command: number,
  table: ProcessTable,
): (readonly [string, number, readonly number[]])[] {
  const state = readState(home);
  const roots = [
    ...(state?.processes ?? []).filter(({ pid }) => pid > 0).map(({ name, pid }) => [name, pid] as const),
    ...(state ? [['supervisor', state.supervisor.pid] as const] : []),
    ['command', command] as const,
  ];
  const taken = new Set<number>();
  return roots.map(([name, root]) => {
    const pids = treeOf(root, table).filter((pid) => !taken.has(pid));
    for (const pid of pids) taken.add(pid);
    return [name, root, pids] as const;
  });
}
