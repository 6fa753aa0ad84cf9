/** Carries out a schedule of faults against a running stack, and takes the stack up again as a person would. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type StartOptions, startStack } from '../../infra/stack/start.js';
import type { SmallDisk } from './disk.js';
import type { Links } from './links.js';
import { inWords, nameOf, type Planned } from './schedule.js';
import { kill, Paused } from './victims.js';
import { untilPlaying } from './watch.js';

export interface FaultLog {
  /** Seconds from the start of the faults. */
  readonly at: number;
  readonly fault: string;
  /** False when what it was meant for did not live at that moment. */
  readonly met: boolean;
}

export interface FaultsOptions {
  readonly home: string;
  /** How the stack is started again after its supervisor was killed. */
  readonly start: StartOptions;
  readonly links: Links;
  readonly disk: SmallDisk | undefined;
  readonly databaseUrl: string;
  readonly say: (line: string) => void;
}

const AIM_MS = 4_000;
/** How often a start that faults broke is tried again before the faults are given up. */
const START_TRIES = 10;

export class Faults {
  readonly log: FaultLog[] = [];
  /** Starts of the stack that failed under faults, with the reason. */
  readonly failedStarts: string[] = [];
  private readonly paused = new Paused();
  /** One start at a time. */
  private starting: Promise<void> = Promise.resolve();

  constructor(private readonly options: FaultsOptions) {}

  /** Done when the last fault is over and the stack is up. Faults overlap. */
  async inflict(planned: readonly Planned[]): Promise<void> {
    const from = performance.now();
    const under: Promise<void>[] = [];
    for (const fault of planned) {
      await sleep(Math.max(0, fault.at - (performance.now() - from)));
      under.push(this.meet(fault, (performance.now() - from) / 1000));
    }
    await Promise.all(under);
    await this.heal();
  }

  /** By how many faults of each kind something was met. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { fault, met } of this.log) if (met) counts[fault] = (counts[fault] ?? 0) + 1;
    return counts;
  }

  private async heal(): Promise<void> {
    this.options.links.heal();
    this.options.disk?.heal();
    this.paused.heal();
    await this.startAgain();
  }

  private async meet(fault: Planned, at: number): Promise<void> {
    const { say } = this.options;
    say(`${at.toFixed(1).padStart(6)} s  ${inWords(fault)}`);
    const met = await this.carryOut(fault);
    if (!met) say(`${' '.repeat(10)}${inWords(fault)}: nothing to meet at that moment`);
    this.log.push({ at: Math.round(at * 10) / 10, fault: nameOf(fault), met });
  }

  private async carryOut(fault: Planned): Promise<boolean> {
    const { home, links, disk, databaseUrl } = this.options;
    // Aimed: between two steps nothing is lost with a sandbox worker.
    if ('victim' in fault && fault.victim === 'worker-sandbox') await untilPlaying(databaseUrl, AIM_MS);
    switch (fault.kind) {
      case 'kill': {
        const met = await kill(home, fault.victim);
        // Services come back by themselves; a supervisor only when somebody types `up`.
        if (fault.victim === 'supervisor' || fault.victim === 'everything') await this.startAgain();
        return met;
      }
      case 'pause':
        return this.paused.pause(home, fault.victim, fault.ms);
      case 'network':
        await links.network(fault.link, fault.how, fault.ms);
        return true;
      case 'http': {
        const before = links.met();
        await links.http(fault.link, fault.how, fault.ms);
        return links.met() > before;
      }
      case 'disk':
        await disk?.full(fault.ms);
        return disk !== undefined;
    }
  }

  private startAgain(): Promise<void> {
    this.starting = this.starting.then(() => this.startNow());
    return this.starting;
  }

  private async startNow(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await startStack(this.options.start);
        return;
      } catch (error) {
        // Another fault killed the supervisor, or a service three times, while it was starting.
        const reason = error instanceof Error ? error.message : String(error);
        this.failedStarts.push(reason);
        this.options.say(
          `${' '.repeat(10)}the stack did not start: ${reason.split('\n').slice(0, 2).join(' ')}`,
        );
        if (tries === START_TRIES) throw error;
      }
    }
  }
}
