/** CPU time of this process and of others, seconds. Linux only for others: 0 where /proc does not tell. */
import { readFile } from 'node:fs/promises';

/** Kernel ticks a second as /proc counts them; 100 on every Linux that Node runs on. */
const TICKS = 100;

export function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

export async function cpuOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS;
}

/** CPU-seconds by process over one stage. */
export interface StageCpu {
  readonly wall: number;
  readonly self: number;
  readonly trainer: number;
  readonly endpoints: number;
}

export async function stopwatch(pids: {
  trainer: number;
  endpoints: number;
}): Promise<() => Promise<StageCpu>> {
  const read = async () => ({
    wall: performance.now() / 1_000,
    self: ownCpu(),
    trainer: await cpuOf(pids.trainer),
    endpoints: await cpuOf(pids.endpoints),
  });
  const from = await read();
  return async () => {
    const to = await read();
    const spent = (key: keyof StageCpu): number => Math.round((to[key] - from[key]) * 100) / 100;
    return {
      wall: spent('wall'),
      self: spent('self'),
      trainer: spent('trainer'),
      endpoints: spent('endpoints'),
    };
  };
}
