/** Why a server process ended, from how it ended and the end of its log. */
import { Fault } from '../faults.js';

const OUT_OF_MEMORY =
  /out of memory|OutOfMemory|No available memory for the cache|Free memory on device .* is less than/i;
const PORT_TAKEN = /address already in use|EADDRINUSE/i;

export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last lines of its log. */
  readonly said: string;
  readonly log: string;
}

/** `Fault('trainer')` with code `out_of_memory`, `port_taken` or `server_died`. */
export function endingFault({ code, signal, said, log }: Ending): Fault {
  const how =
    signal !== null ? `was killed by ${signal}` : code !== null ? `ended with code ${code}` : 'ended';
  const tail = said === '' ? '' : `\n${said}`;
  const words = (what: string): string => `the server ${what} (log: ${log})${tail}`;
  if (OUT_OF_MEMORY.test(said)) {
    const hint = 'out of memory: fewer sequences, a shorter context or a smaller share of memory';
    return new Fault('trainer', words(`${how}, ${hint}`), { code: 'out_of_memory' });
  }
  if (PORT_TAKEN.test(said))
    return new Fault('trainer', words(`${how}, its port is taken`), { code: 'port_taken' });
  // The kernel writes no last words.
  const hint = signal === 'SIGKILL' ? ', by a person or for want of memory of the machine' : '';
  return new Fault('trainer', words(how + hint), { code: 'server_died' });
}
