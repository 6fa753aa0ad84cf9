/**
 * Sandboxes whose release did not get through, e.g. because their engine hung or was being started again: tried again
 * until they are ended. A sweep would do the same, minutes later; and does, when this worker does not live so long.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../core/ledger.js';
import type { Isolation, SandboxDriver } from '../core/sandbox.js';

const FIRST_MS = 1_000;
const MOST_MS = 20_000;

export interface LeftoverParts {
  readonly ledger: Pick<Ledger, 'sandboxEnded'>;
  readonly driver: (isolation: Isolation) => SandboxDriver;
  readonly say: (line: string) => void;
  /** Before the first new try, ms; each later wait is twice as long. */
  readonly firstMs?: number;
}

export interface Leftovers {
  /** Returns at once. */
  add(sandbox: { readonly name: string; readonly isolation: Isolation }): void;
  /** Leaves the rest to the sweeps. */
  stop(): void;
}

export function createLeftovers({ ledger, driver, say, firstMs = FIRST_MS }: LeftoverParts): Leftovers {
  const stopped = new AbortController();
  const untilEnded = async (name: string, isolation: Isolation): Promise<void> => {
    for (let wait = firstMs; ; wait = Math.min(2 * wait, MOST_MS)) {
      await sleep(wait, undefined, { signal: stopped.signal, ref: false });
      try {
        await driver(isolation).reap(name);
        await ledger.sandboxEnded(name, 'reaped');
        say(`sandbox ${name} is ended, after its release had not got through`);
        return;
      } catch (error) {
        say(`sandbox ${name} may still be there: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  return {
    add: ({ name, isolation }) => void untilEnded(name, isolation).catch(unlessStopped),
    stop: () => stopped.abort(),
  };
}

function unlessStopped(error: unknown): void {
  if ((error as Error).name !== 'AbortError') throw error;
}
