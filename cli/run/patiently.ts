/** Reading a ledger whose database may be starting again. */
import { Fault } from '../../core/faults.js';

/** What `read` gives, or undefined while the database does not answer: its silence is not the run's end. */
export async function patiently<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Fault && error.kind === 'ledger' && error.retry) return undefined;
    throw error;
  }
}
