/** Entry of every worker process: one clear line and exit code 2 for a wrong environment, 1 for a failure. */
import { UsageError } from '../core/faults.js';
import { type WorkerEnvironment, workerEnvironment } from './environment.js';

export async function workerMain(run: (environment: WorkerEnvironment) => Promise<void>): Promise<void> {
  try {
    await run(workerEnvironment());
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(error instanceof UsageError ? 2 : 1);
  }
}
