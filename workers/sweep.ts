/**
 * Ends what was left behind: by workers of this host that were killed, by releases that did not get through (an engine
 * that was away), and what carries an expiry that has passed, whichever ledger knew it. Runs when a worker starts and
 * every few minutes after.
 */
import type { Ledger } from '../core/ledger.js';
import { ISOLATIONS, type Isolation, type SandboxDriver } from '../core/sandbox.js';
import type { WorkerEnvironment } from './environment.js';

/** Too low: the ledger is asked for nothing; too high: what a failed release has left stays for so long. */
const EVERY_MS = 5 * 60_000;

export interface SweepParts {
  readonly ledger: Pick<Ledger, 'openSandboxes' | 'endedSandboxes' | 'sandboxEnded'>;
  readonly environment: Pick<WorkerEnvironment, 'host' | 'identity'>;
  /** What is to be ended is ended by the driver that made it, not by the one that the operator demands now. */
  readonly driver: (isolation: Isolation) => SandboxDriver;
}

export interface Swept {
  readonly reaped: readonly string[];
  /** One line for each that could not be ended; the next sweep tries again. */
  readonly problems: readonly string[];
}

/** `starting`: this process has made nothing yet, so what is under its own identity is of a predecessor with its id. */
export async function sweepSandboxes(parts: SweepParts, { starting }: { starting: boolean }): Promise<Swept> {
  const reaped: string[] = [];
  const problems: string[] = [];
  const noted = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const { ledger, environment, driver } = parts;
  const now = new Date();
  for (const row of await ledger.openSandboxes(environment.host, [])) {
    const own = row.worker === environment.identity;
    const orphaned = own ? starting : !workerIsAlive(row.worker);
    if (!orphaned && !row.abandoned && new Date(row.expiresAt) > now) continue;
    await noted(`sandbox ${row.name}`, async () => {
      await driver(row.isolation as Isolation).reap(row.name);
      await ledger.sandboxEnded(row.name, 'reaped');
      reaped.push(row.name);
    });
  }
  for (const isolation of ISOLATIONS) {
    await noted(`sandboxes of driver ${isolation}`, async () => {
      const living = await driver(isolation).living();
      const ours = living.filter(({ foreign }) => foreign !== true).map(({ name }) => name);
      // Taken away by its worker a moment ago, or made by a start that was given up before it came true.
      const ended = new Set(ours.length === 0 ? [] : await ledger.endedSandboxes(ours));
      for (const { name, expiresAt } of living) {
        const expired = expiresAt !== undefined && new Date(expiresAt) <= now;
        if (!expired && !ended.has(name)) continue;
        await noted(`sandbox ${name}`, async () => {
          if (await driver(isolation).reap(name)) reaped.push(name);
        });
      }
    });
  }
  return { reaped, problems };
}

/** Sweeps now and from then on; the returned function stops that. Rejects only when the ledger does not answer now. */
export async function keepSweeping(parts: SweepParts, say: (line: string) => void): Promise<() => void> {
  const tell = ({ reaped, problems }: Swept): void => {
    if (reaped.length > 0)
      say(`ended ${reaped.length} sandboxes that were left behind: ${reaped.join(', ')}`);
    for (const problem of problems) say(problem);
  };
  tell(await sweepSandboxes(parts, { starting: true }));
  let sweeping = false;
  const timer = setInterval(() => {
    if (sweeping) return;
    sweeping = true;
    sweepSandboxes(parts, { starting: false })
      .then(tell)
      .catch((error: unknown) => say(`sandboxes were not swept: ${String(error)}`))
      .finally(() => {
        sweeping = false;
      });
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** By the process id in `host:pid`, on this host. A reused id only delays the reaping until the expiry. */
export function workerIsAlive(worker: string): boolean {
  const pid = Number(worker.slice(worker.lastIndexOf(':') + 1));
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
