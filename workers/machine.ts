/** Memory and CPUs of this machine, or of the part of it that this process may use. */
import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Machine } from './slots.js';

/** Version 2; version 1 has other names, and is left to `STEADFAST_SLOTS`. */
const CPU_QUOTA = '/sys/fs/cgroup/cpu.max';

export function thisMachine(): Machine {
  const total = os.totalmem();
  // No bound reads as 0 or as more than there is.
  const bound = process.constrainedMemory() || total;
  return { memoryBytes: Math.min(total, bound), cpus: Math.min(os.availableParallelism(), quota()) };
}

/** CPUs by the container's quota: `200000 100000` is 2, `max 100000` none. */
function quota(): number {
  try {
    const [most, period] = readFileSync(CPU_QUOTA, 'utf8').trim().split(' ').map(Number);
    const cpus = (most ?? Number.NaN) / (period ?? Number.NaN);
    return cpus > 0 ? Math.max(1, Math.floor(cpus)) : Number.POSITIVE_INFINITY;
  } catch (error) {
    // Not Linux, version 1, or the root group, which has no quota.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Number.POSITIVE_INFINITY;
    throw error;
  }
}
