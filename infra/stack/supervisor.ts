/**
 * The supervisor: one detached process that keeps every service of a stack alive and writes down what it does.
 *
 * SIGTERM ends the services in their order, then the supervisor. SIGUSR2 ends only the supervisor: the next one
 * adopts what it finds, as after `kill -9`.
 */
import { join } from 'node:path';
import { tryLock, unlock } from '../setup/lock.mjs';
import { isAlive, self } from '../setup/process.mjs';
import { endAll, endStrays } from './ending.js';
import {
  readState,
  removeState,
  type StackInfo,
  type StackProcess,
  type StackState,
  writeState,
} from './info.js';
import { Keeper, StartFailure } from './keeper.js';
import { choosePorts, type PortName, type Ports, rechoose } from './ports.js';
import type { Service } from './service.js';

const WRITE_AGAIN_MS = 2_000;

/** Services and addresses as they follow from `ports`, which may change until a service has started. */
export interface Plan {
  readonly services: readonly Service[];
  info(): Omit<StackInfo, 'processes'>;
}

export interface SupervisorOptions {
  readonly home: string;
  /** Digest of options and code, recorded for the next `up`. */
  readonly fingerprint: string;
  readonly plan: (ports: Ports) => Plan;
  /** Ports of a service by its name, known before there is a plan. */
  readonly portsOf: (service: string) => readonly PortName[];
}

/** Runs until it is told to end; sets the process's exit code. */
export async function supervise(options: SupervisorOptions): Promise<void> {
  const lock = join(options.home, 'supervisor.lock');
  if (!tryLock(lock)) {
    note('another supervisor has this home');
    return;
  }
  try {
    await new Supervisor(options).run();
  } finally {
    unlock(lock);
  }
}

class Supervisor {
  private state: StackState['state'] = 'starting';
  private problem: string | null = null;
  private plan: Plan | undefined;
  private ports: Ports | undefined;
  private keepers: Keeper[] = [];
  /** True while the state could not be written for want of room. */
  private unwritten = false;
  private order: 'stop' | 'leave' | undefined;
  /** What is going on in the background: bringing up, or keeping. */
  private work: readonly Promise<void>[] = [];

  constructor(private readonly options: SupervisorOptions) {}

  async run(): Promise<void> {
    const told = this.listen();
    try {
      this.work = [this.bringUp()];
      await Promise.race([...this.work, told]);
      if (this.order === undefined) {
        this.become('ready');
        this.work = this.keepers.map((keeper) => keeper.keep());
        await Promise.race([...this.work, told]);
      }
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      note(`failed: ${this.problem}`);
      await this.endServices();
      this.become('failed');
      process.exitCode = 1;
      return;
    }
    if (this.order === 'leave') {
      // Not by returning: keepers and half-done starts would hold the process, or act once more.
      note('left; the services go on');
      unlock(join(this.options.home, 'supervisor.lock'));
      process.exit(0);
    }
    this.become('stopping');
    await this.endServices();
    removeState(this.options.home);
    note('stopped');
  }

  private listen(): Promise<void> {
    return new Promise((done) => {
      const on = (name: NodeJS.Signals, order: 'stop' | 'leave'): void => {
        process.on(name, () => {
          this.order ??= order;
          done();
        });
      };
      on('SIGTERM', 'stop');
      on('SIGINT', 'stop');
      on('SIGUSR2', 'leave');
      process.on('SIGHUP', () => note('the terminal went away; still here'));
    });
  }

  private async bringUp(): Promise<void> {
    const { home, portsOf } = this.options;
    const earlier = readState(home)?.processes ?? [];
    const recorded = earlier.filter(isAlive);
    const strays = await endStrays(home, recorded);
    if (strays > 0) note(`ended ${strays} processes that an earlier supervisor had left`);
    this.ports = await choosePorts(home, new Set(recorded.flatMap(({ name }) => portsOf(name))));
    this.plan = this.options.plan(this.ports);
    this.keepers = this.plan.services.map((service) => new Keeper(service, () => this.write(), note));

    const wanted = new Set(this.plan.services.map(({ name }) => name));
    await endAll(recorded.filter(({ name }) => !wanted.has(name)));
    await this.inOrder((keeper) =>
      this.bring(
        keeper,
        earlier.find(({ name }) => name === keeper.service.name),
      ),
    );
  }

  /** Calls `work` for each service once those it needs are done; independent ones at the same time. */
  private async inOrder(work: (keeper: Keeper) => Promise<void>): Promise<void> {
    const begun = new Map<string, Promise<void>>();
    const begin = (keeper: Keeper): Promise<void> => {
      const { name, needs } = keeper.service;
      const known = begun.get(name);
      if (known) return known;
      const first = this.keepers.filter(({ service }) => needs.includes(service.name));
      const done = Promise.all(first.map(begin)).then(() => (this.order ? undefined : work(keeper)));
      begun.set(name, done);
      return done;
    };
    await Promise.all(this.keepers.map(begin));
  }

  private async bring(keeper: Keeper, before: StackProcess | undefined): Promise<void> {
    for (;;) {
      try {
        await keeper.bring(before);
        return;
      } catch (error) {
        if (this.order !== undefined) return;
        if (!(error instanceof StartFailure) || !(await this.portTaken(keeper.service))) throw error;
      }
    }
  }

  /** Somebody took a port between choice and use: true when another one was chosen. */
  private async portTaken(service: Service): Promise<boolean> {
    let changed = false;
    for (const name of service.ports) {
      if (this.ports && (await rechoose(this.options.home, this.ports, name))) {
        note(`${service.name}: its port was taken, now ${this.ports[name]}`);
        changed = true;
      }
    }
    return changed;
  }

  private async endServices(): Promise<void> {
    for (const keeper of this.keepers) keeper.retire();
    await endAll(this.keepers.map((keeper) => keeper.record()));
    // A start that was under way has spawned its process by now, or never will.
    await Promise.allSettled(this.work);
    await endAll(this.keepers.map((keeper) => keeper.record()));
    await endStrays(this.options.home, []);
    for (const keeper of this.keepers) keeper.become('stopped');
  }

  private become(state: StackState['state']): void {
    this.state = state;
    this.write();
    note(state);
  }

  private write(): void {
    if (!this.plan) return;
    try {
      this.writeNow(this.plan);
      this.unwritten = false;
    } catch (error) {
      if (!isFull(error)) throw error;
      // What runs may go on, and the record is written as soon as there is room again.
      if (!this.unwritten) note(`the disk is full: ${(error as Error).message}`);
      this.unwritten = true;
      setTimeout(() => this.unwritten && this.write(), WRITE_AGAIN_MS).unref();
    }
  }

  private writeNow(plan: Plan): void {
    writeState({
      format: 1,
      ...plan.info(),
      state: this.state,
      problem: this.problem,
      supervisor: self(),
      fingerprint: this.options.fingerprint,
      processes: this.keepers.map((keeper) => keeper.record()),
    });
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** To the supervisor's own log, which is its standard output. */
function note(line: string): void {
  console.log(`${new Date().toISOString()} ${line}`);
}
