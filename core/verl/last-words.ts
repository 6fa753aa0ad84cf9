/** Why a job ended, from how it ended and the end of its log. */
import { Fault } from '../faults.js';
import type { Ending } from '../serving/last-words.js';

const KINDS: readonly (readonly [code: string, pattern: RegExp, hint: string])[] = [
  [
    'disk_full',
    /No space left on device|ENOSPC|Disk quota exceeded/i,
    'a disk is full: make room, or keep fewer',
  ],
  [
    'out_of_memory',
    /out of memory|OutOfMemory|No available memory for the cache/i,
    'out of memory: a smaller share for vLLM, fewer tokens a GPU, or more sequence parallelism',
  ],
  ['no_cluster', /Could not find any running Ray instance|ray start/i, 'no Ray cluster: see docs/verl.md'],
];

/** `Fault('trainer')` with code `disk_full`, `out_of_memory`, `no_cluster`, `ended_early` or `job_died`. */
export function jobFault({ code, signal, said, log }: Ending): Fault {
  const how =
    signal !== null ? `was killed by ${signal}` : code !== null ? `ended with code ${code}` : 'ended';
  const found = KINDS.find(([, pattern]) => pattern.test(said));
  const early = code === 0 && !found;
  const hint = found ? `, ${found[2]}` : early ? ', before its last step was saved' : '';
  const words = `the job ${how}${hint} (log: ${log})${said === '' ? '' : `\n${said}`}`;
  return new Fault('trainer', words, { code: found?.[0] ?? (early ? 'ended_early' : 'job_died') });
}
