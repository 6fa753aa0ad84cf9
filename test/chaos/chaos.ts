/**
 * One experiment: a training run on a real stack while everything fails at random, then the same run left alone, then
 * the comparison.
 *
 *   1. a stack of its own, its workers behind proxies; the run starts, and is made longer while faults last
 *   2. the faults end; the run must finish
 *   3. the ledger's promises, the rows seen on the way, sandboxes, processes
 *   4. a second stack, no faults, as many steps: every weight, batch and episode must be the same
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool } from '../../activities/ledger/pool.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { openStack, type StackContext } from '../../cli/context.js';
import type { Isolation } from '../../core/sandbox.js';
import { type StartOptions, startStack } from '../../infra/stack/start.js';
import { stopStack } from '../../infra/stack/stop.js';
import { processesOf } from '../setup/harness.js';
import { mountDisk, type SmallDisk } from './disk.js';
import { differences, type Facts, factsOf } from './facts.js';
import { type FaultLog, Faults } from './faults.js';
import { discard, newHome } from './home.js';
import { startLinks } from './links.js';
import { type Planned, schedule } from './schedule.js';
import { type Ending, keepGoing, RUN, start, untilDone } from './training.js';
import { killAll } from './victims.js';
import { leftovers, Watch } from './watch.js';

// The database is one of the victims, so it is the stack's own.
delete process.env.DATABASE_URL;

export interface ChaosOptions {
  /** How long faults last, ms. */
  readonly ms: number;
  readonly seed: number;
  /** Artifacts on a small disk of their own, filled now and then. Root on Linux only. */
  readonly disk?: boolean;
  /** Tool servers are programs of their own, and victims; else they live inside the workers. */
  readonly servers?: boolean;
  readonly say: (line: string) => void;
}

export interface ChaosResult {
  readonly seed: number;
  readonly seconds: { readonly faults: number; readonly untilDone: number; readonly twin: number };
  /** Faults that met something, by kind; `missed`: what they were meant for did not live at that moment. */
  readonly faults: {
    readonly met: number;
    readonly missed: number;
    readonly counts: Readonly<Record<string, number>>;
  };
  readonly log: readonly FaultLog[];
  readonly steps: number;
  readonly episodes: number;
  /** By how each ended. `lost` and `superseded` are work that faults cost. */
  readonly tries: Readonly<Record<string, number>>;
  readonly restores: number;
  /** Committed rows watched, how often they were looked at, and looks that the database did not answer. */
  readonly watched: { readonly rows: number; readonly looks: number; readonly missed: number };
  /** Failed steps that were made again, by cause. */
  readonly pauses: readonly string[];
  readonly failedStarts: readonly string[];
  /** Extensions of the run that faults kept from arriving, and were sent again. */
  readonly failedExtensions: number;
  /** Sandboxes that were recorded as open after the run, until a worker started again. */
  readonly reapedLate: number;
  /** What is broken, with the evidence. Empty: every promise held. */
  readonly broken: readonly string[];
  /** Kept when something is broken: logs, databases, artifacts. */
  readonly home: string | null;
}

const WORKERS = { sandbox: 2 } as const;
/** From the last fault to the end of the run: a few steps, a missed heartbeat, backoffs of up to 20 s. More is a stall. */
const FINISH_MS = 120_000;
const EXTEND_EVERY_MS = 700;
const REAP_MS = 30_000;
/** Of the artifact disk: a minute of faults leaves about 5 MB. */
const DISK_MB = { first: 64, perMinute: 16 } as const;

export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { say } = options;
  const { disk: withDisk = false, servers = false } = options;
  const planned = schedule(options.seed, options.ms, { disk: withDisk, servers });
  const home = await newHome();
  const disk = withDisk ? mountDisk(join(home, 'artifacts'), diskSize(options.ms)) : undefined;
  const interrupted = (): void => void discard(home, disk).finally(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  let broken = true;
  try {
    // The twin's are inline: the same server must give the same episodes either way.
    const disturbed = await withIsolation(servers ? 'process' : 'inline', () =>
      disturb(home, disk, planned, options),
    );
    if (disturbed.facts) say(`the same ${disturbed.ending.steps} steps, left alone`);
    const from = performance.now();
    const twin = disturbed.facts ? await leftAlone(options.seed, disturbed.ending.steps) : undefined;
    const problems = [
      ...disturbed.problems,
      ...(disturbed.facts && twin
        ? differences(disturbed.facts, twin)
        : ['no comparison: the run did not finish']),
    ];
    broken = problems.length > 0;
    return {
      ...disturbed.result,
      seconds: { ...disturbed.result.seconds, twin: seconds(from) },
      broken: problems,
      home: broken ? home : null,
    };
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    if (broken) await stopStack({ home });
    else await discard(home, disk);
  }
}

interface Disturbed {
  readonly ending: Ending;
  /** Undefined when the run did not finish. */
  readonly facts: Facts | undefined;
  readonly problems: readonly string[];
  readonly result: Omit<ChaosResult, 'broken' | 'home'>;
}

async function disturb(
  home: string,
  disk: SmallDisk | undefined,
  planned: readonly Planned[],
  { seed, say }: ChaosOptions,
): Promise<Disturbed> {
  const services = await startStack({ home, workers: 'none' });
  const links = await startLinks(services, seed);
  const startOptions: StartOptions = { home, workers: WORKERS, through: links.through };
  const context = openStack(await startStack(startOptions));
  try {
    await start(context, seed);
    const watch = new Watch(context.info.databaseUrl);
    const faults = new Faults({
      ...{ home, links, disk, say },
      start: startOptions,
      databaseUrl: context.info.databaseUrl,
    });
    const from = performance.now();
    const extending = new Extending(context);
    await faults.inflict(planned);
    const faultSeconds = seconds(from);
    const failedExtensions = await extending.end();
    say(`${faults.log.length} faults in ${faultSeconds} s; now the run must finish`);
    const healed = performance.now();
    // An extension of a run that had ended may have been cut off before the run was started again.
    if ((await (await context.ledger()).campaign(RUN))?.state === 'running') await start(context, seed);
    const ending = await untilDone(context, FINISH_MS);
    const untilDoneSeconds = seconds(healed);
    await watch.end();
    say(`${ending.state} after ${ending.steps} steps, ${untilDoneSeconds} s after the last fault`);

    const done = ending.state === 'done';
    const reapedLate = done ? await reapWhatIsOpen(home, context) : 0;
    const left = await leftovers(context.info.databaseUrl);
    const ledger = await context.ledger();
    const problems = [
      ...(done
        ? []
        : [
            `the run is ${ending.state} after ${ending.steps} steps, waiting for: ${ending.waitsFor.join('; ')}`,
          ]),
      ...watch.changed.map((change) => `a committed row changed: ${change}`),
      ...(await brokenPromises(context)),
      ...(await updatesAppliedTwice(context)),
      ...left.repeated.map((key) => `finished, and played again: ${key}`),
      ...(done ? left.openSandboxes.map((name) => `sandbox never ended: ${name}`) : []),
    ];
    const restores = (await ledger.restores(RUN)).length;
    const facts = done ? await factsOf(context) : undefined;
    await context.close();
    await stopStack({ home });
    problems.push(...processesOf(home).map((text) => `left running: ${text.slice(0, 200)}`));
    const counts = faults.counts();
    const met = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return {
      ending,
      facts,
      problems,
      result: {
        seed,
        seconds: { faults: faultSeconds, untilDone: untilDoneSeconds, twin: 0 },
        faults: { met, missed: faults.log.length - met, counts },
        log: faults.log,
        steps: ending.steps,
        episodes: facts?.episodes.length ?? 0,
        tries: left.tries,
        restores,
        watched: { rows: watch.seen.size, looks: watch.looks, missed: watch.missed },
        pauses: ending.pauses,
        failedStarts: faults.failedStarts,
        failedExtensions,
        reapedLate,
      },
    };
  } finally {
    await context.close();
    await links.close();
  }
}

/** Makes the run longer for as long as faults last. What faults keep from arriving is sent again. */
class Extending {
  private ended = false;
  private failed = 0;
  private readonly work: Promise<void>;

  constructor(private readonly context: StackContext) {
    this.work = this.extend();
  }

  /** How many extensions did not arrive. */
  async end(): Promise<number> {
    this.ended = true;
    await this.work;
    return this.failed;
  }

  private async extend(): Promise<void> {
    while (!this.ended) {
      try {
        await keepGoing(this.context);
      } catch {
        // Temporal or the database is a victim at this moment; how often is counted.
        this.failed++;
      }
      await sleep(EXTEND_EVERY_MS);
    }
  }
}

/** The run without faults, on a stack of its own. */
async function leftAlone(seed: number, steps: number): Promise<Facts> {
  const home = await newHome();
  const interrupted = (): void => void stopStack({ home });
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const context = openStack(await startStack({ home, workers: WORKERS }));
  try {
    await start(context, seed, steps);
    const ending = await untilDone(context, FINISH_MS + steps * 15_000);
    if (ending.state !== 'done')
      throw new Error(`the undisturbed run is ${ending.state}: ${ending.waitsFor.join('; ')}`);
    return await factsOf(context);
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    await context.close();
    await discard(home);
  }
}

async function brokenPromises(context: StackContext): Promise<readonly string[]> {
  const pool = createPool(context.info.databaseUrl, { max: 2 });
  try {
    const verification = await verifyLedger({
      pool,
      ledger: await context.ledger(),
      artifacts: await context.artifacts(),
    });
    return verification.violations.map(
      ({ invariant, keys }) => `verify ledger: ${invariant}: ${keys.slice(0, 10).join(', ')}`,
    );
  } finally {
    await pool.end();
  }
}

/** By the trainer's own record, which every checkpoint carries. */
async function updatesAppliedTwice(context: StackContext): Promise<readonly string[]> {
  const ledger = await context.ledger();
  const known = new Set((await ledger.operations(RUN)).map(({ op }) => op));
  return (await ledger.checkpoints(RUN)).flatMap(({ step, manifest: { appliedOps } }) => {
    const twice = appliedOps.filter((op, at) => appliedOps.indexOf(op) !== at);
    const foreign = appliedOps.filter((op) => !known.has(op));
    return [
      ...twice.map((op) => `applied twice by the checkpoint of step ${step}: ${op}`),
      ...foreign.map((op) => `applied by the checkpoint of step ${step}, not in the ledger: ${op}`),
    ];
  });
}

/**
 * A note that a sandbox has ended may be lost with its database: a worker that starts ends what is open. Not what a
 * worker that lives may still use, so all of them start again.
 */
async function reapWhatIsOpen(home: string, context: StackContext): Promise<number> {
  const open = async () => (await leftovers(context.info.databaseUrl)).openSandboxes.length;
  const before = await open();
  const deadline = Date.now() + REAP_MS;
  if (before > 0) await killAll(home, 'worker-sandbox');
  while ((await open()) > 0 && Date.now() < deadline) await sleep(500);
  return before;
}

/** Workers get it through the environment of whoever starts the stack. */
async function withIsolation<T>(isolation: Isolation, work: () => Promise<T>): Promise<T> {
  process.env.STEADFAST_ISOLATION = isolation;
  try {
    return await work();
  } finally {
    delete process.env.STEADFAST_ISOLATION;
  }
}

function diskSize(ms: number): number {
  return DISK_MB.first + Math.ceil((ms / 60_000) * DISK_MB.perMinute);
}

function seconds(from: number): number {
  return Math.round((performance.now() - from) / 100) / 10;
}
