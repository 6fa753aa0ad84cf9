/** A pause that an abort ends: it then rejects with the signal's reason. */
import { setTimeout as sleep } from 'node:timers/promises';

export async function paused(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
