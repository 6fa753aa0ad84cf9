/** Entry of every worker process: one clear line and exit code 2 for a wrong environment, 1 for a failure. */
import { UsageError } from '../core/faults.js';
import { type WorkerEnvironment, workerEnvironment } from './environment.js';
import { outliveLog, tell } from './log.js';
import { listenForSignals } from './stop-signals.js';

export function workerMain(run: (environment: WorkerEnvironment) => Promise<void>): Promise<void>;
export function workerMain<E>(run: (environment: E) => Promise<void>, read: () => E): Promise<void>;
export async function workerMain<E>(
  run: (environment: E) => Promise<void>,
  read: () => E = workerEnvironment as () => E,
): Promise<void> {
  outliveLog();
  listenForSignals();
  try {
    await run(read());
    process.exit(0);
  } catch (error) {
    tell(words(error));
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}

/** A wrong environment is for whoever set it; the stack trace is for a failure of ours. */
function words(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
