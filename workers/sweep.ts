/**
 * Ends what was left behind: by workers of this host that were killed, by releases that did not get through (an engine
 * that was away), and what carries an expiry that has passed, whichever ledger knew it. Runs when a worker starts and
 * every minute after; docs/sandboxes.md says why in each worker.
 */
import { readFileSync } from 'node:fs';
import type { Ledger, OpenSandbox } from '../core/ledger.js';
import { ISOLATIONS, type Isolation, type LivingSandbox, type SandboxDriver } from '../core/sandbox.js';
import type { WorkerEnvironment } from './environment.js';

/** Too low: the ledger and the engine are asked for nothing; too high: what was left behind stays for so long. */
const EVERY_MS = 60_000;
/** Ended at the same time: an engine that hangs makes each wait for its own clock. */
const AT_A_TIME = 8;

export interface SweepParts {
  /** Without one, only what is there can say of itself that it should not be. */
  readonly ledger?: Pick<Ledger, 'openSandboxes' | 'endedSandboxes' | 'sandboxEnded'> | undefined;
  readonly environment: Pick<WorkerEnvironment, 'host' | 'identity'>;
  /** What is to be ended is ended by the driver that made it, not by the one that the operator demands now. */
  readonly driver: (isolation: Isolation) => SandboxDriver;
}

export interface Swept {
  readonly reaped: readonly string[];
  /** One line for each that could not be ended; the next sweep tries again. */
  readonly problems: readonly string[];
}

/**
 * One sweep. `starting`: this process has made nothing yet, so what is under its own identity is of a predecessor with
 * its id. `decided` is called when what is to be ended is known: what this process makes from then on is not part of it.
 * A ledger that does not answer is a problem among others: what carries its own expiry is ended all the same.
 */
export async function sweepSandboxes(
  parts: SweepParts,
  { starting, decided = () => {} }: { readonly starting: boolean; readonly decided?: () => void },
): Promise<Swept> {
  const sweep = new Sweep(parts);
  await sweep.noted('sandboxes of the ledger', async () => {
    const rows = await sweep.leftInLedger(starting);
    decided();
    await inTurns(rows, (row) => sweep.endRow(row));
  });
  for (const isolation of ISOLATIONS) {
    await sweep.noted(`sandboxes of driver ${isolation}`, async () => {
      await inTurns(await sweep.leftByDriver(isolation), (name) => sweep.end(name, isolation));
    });
  }
  const { reaped, problems } = sweep;
  return { reaped, problems };
}

class Sweep {
  readonly reaped: string[] = [];
  readonly problems: string[] = [];
  private readonly now = new Date();

  constructor(private readonly parts: SweepParts) {}

  async noted(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async leftInLedger(starting: boolean): Promise<readonly OpenSandbox[]> {
    const { host, identity } = this.parts.environment;
    const rows = (await this.parts.ledger?.openSandboxes(host, [])) ?? [];
    return rows.filter((row) => {
      const orphaned = row.worker === identity ? starting : !workerIsAlive(row.worker);
      return orphaned || row.abandoned || new Date(row.expiresAt) <= this.now;
    });
  }

  endRow({ name, isolation }: OpenSandbox): Promise<void> {
    return this.noted(`sandbox ${name}`, async () => {
      await this.parts.driver(isolation as Isolation).reap(name);
      await this.parts.ledger?.sandboxEnded(name, 'reaped');
      this.reaped.push(name);
    });
  }

  /** What is there and should not be, by its own marks and by what the ledger says of it. */
  async leftByDriver(isolation: Isolation): Promise<readonly string[]> {
    const living = await this.parts.driver(isolation).living();
    const ours = living.filter(({ foreign }) => foreign !== true).map(({ name }) => name);
    // Taken away by its worker a moment ago, or made by a start that was given up before it came true.
    const ended = new Set<string>();
    await this.noted(`ends of sandboxes of driver ${isolation}`, async () => {
      if (ours.length === 0) return;
      for (const name of (await this.parts.ledger?.endedSandboxes(ours)) ?? []) ended.add(name);
    });
    const past = ({ expiresAt }: LivingSandbox) => expiresAt !== undefined && new Date(expiresAt) <= this.now;
    const { host } = this.parts.environment;
    // Of processes of other stacks and hosts (containers that share a home) nothing is known here.
    const orphaned = ({ foreign, worker }: LivingSandbox) =>
      foreign !== true && worker !== undefined && hostOf(worker) === host && !workerIsAlive(worker);
    return living
      .filter((each) => past(each) || orphaned(each) || ended.has(each.name))
      .map(({ name }) => name);
  }

  end(name: string, isolation: Isolation): Promise<void> {
    return this.noted(`sandbox ${name}`, async () => {
      if (await this.parts.driver(isolation).reap(name)) this.reaped.push(name);
    });
  }
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const turn = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, turn));
}

/**
 * Sweeps now and from then on; the returned function stops that. Resolves when it is settled what the first sweep ends:
 * ending it may take long where the engine hangs, and new episodes need not wait for that. Rejects when the ledger does
 * not answer now.
 */
export async function keepSweeping(parts: SweepParts, say: (line: string) => void): Promise<() => void> {
  let sweeping = false;
  const sweep = async (starting: boolean, decided?: () => void): Promise<void> => {
    if (sweeping) return;
    sweeping = true;
    const { reaped, problems } = await sweepSandboxes(parts, { starting, ...(decided ? { decided } : {}) });
    if (reaped.length > 0)
      say(`ended ${reaped.length} sandboxes that were left behind: ${reaped.join(', ')}`);
    for (const problem of problems) say(problem);
    sweeping = false;
  };
  await new Promise<void>((resolve, reject) => {
    // Told of nothing any more when it had been settled.
    void sweep(true, resolve).then(() => reject(new Error('what was left behind is not known')));
  });
  const timer = setInterval(() => void sweep(false), EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * By the process id in `host:pid`, on this host; one that has ended and that nobody has waited for is dead. A reused id
 * only delays the reaping until the expiry.
 */
export function workerIsAlive(worker: string): boolean {
  const pid = Number(worker.slice(worker.lastIndexOf(':') + 1));
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !hasEnded(pid);
}

function hostOf(worker: string): string {
  return worker.slice(0, worker.lastIndexOf(':'));
}

/** False where the system does not say. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state stands behind the command, which is in parentheses and may hold anything.
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}
