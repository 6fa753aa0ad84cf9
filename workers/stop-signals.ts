/**
 * SIGTERM and SIGINT of a worker process. The first drains it, or ends it with 0 where it has taken no work yet; the next
 * ends it at once. Handled from the start and for good: as the first process of a container it would not be ended by a
 * signal that it does not handle.
 */
import { constants } from 'node:os';
import { tell } from './log.js';

let drain: ((signal: string) => void) | undefined;
let asked = false;

/** Call it first thing. */
export function listenForSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (asked) {
        tell(`${signal} again: ends at once; what it had runs again elsewhere`);
        process.exit(128 + constants.signals[signal]);
      }
      asked = true;
      if (drain === undefined) process.exit(0);
      drain(signal);
    });
  }
}

/** From now on the first signal begins `stop`, and whoever called this ends the process when all is done. */
export function drainBy(stop: (signal: string) => void): void {
  drain = stop;
}
