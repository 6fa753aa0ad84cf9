/** Waiting for what a running stack will do, without saying when. */
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 120_000;

/** The first value that is neither false nor undefined; throws, naming `what`, when none comes for two minutes. */
export async function until<T>(what: string, read: () => Promise<T | false | undefined>): Promise<T> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`not seen in ${LIMIT_MS / 1000} s: ${what}`);
    await sleep(100);
  }
}
