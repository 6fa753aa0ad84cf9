/** How many containers a sandbox worker may start ahead of the episodes that will use them. */
import { EPISODE_NEEDS, WARM } from '../temporal.config.js';
import type { Machine } from './slots.js';

/**
 * `slots`: episodes of one worker at a time; `workers`: those that share the machine. One that waits has the bounds of
 * any other, and all of them together a share of the memory.
 */
export function warmOf(slots: number, { memoryBytes }: Pick<Machine, 'memoryBytes'>, workers = 1): number {
  const memory = (WARM.memory * memoryBytes) / workers;
  const byMemory = Math.floor(memory / (EPISODE_NEEDS.docker.mebibytes * 2 ** 20));
  return Math.min(slots, byMemory, WARM.most);
}
