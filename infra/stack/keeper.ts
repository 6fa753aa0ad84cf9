/**
 * Keeps one service alive: adopts or starts it, waits until it is healthy, starts it again when it dies or hangs.
 *
 *   waiting → starting → ready → (dies) restarting → ready → … → stopped
 *
 * Everything is found by looking (process id and start time, a real request), nothing by being a child's parent:
 * so a process that an earlier, killed supervisor started is kept like any other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { gone, isAlive, type ProcessId, signal } from '../setup/process.mjs';
import type { ProcessState, StackProcess } from './info.js';
import { boundLog, sizeOf, tail } from './logs.js';
import type { Service } from './service.js';

const LOOK_EVERY_MS = 250;
const HEALTH_EVERY_MS = 10_000;
/** A process that has answered nothing for so long hangs. Too low: a busy machine restarts healthy ones. */
const HUNG_AFTER_MS = 90_000;
/** Deaths in a row, before it was ever ready, that make the start of the stack fail. */
const START_TRIES = 3;
const BACKOFF_MS = { first: 200, longest: 10_000 } as const;
/** Alive for so long, a process has earned the shortest backoff again. */
const STABLE_AFTER_MS = 30_000;

const NOBODY: ProcessId = { pid: 0, started: '' };

/** The service could not be brought up; the message ends with the last lines of its log. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

export class Keeper {
  state: ProcessState = 'waiting';
  id: ProcessId = NOBODY;
  restarts = 0;
  problem: string | null = null;
  fingerprint = '';
  private stopping = false;
  /** A process of ours that is dead, and has not been buried. */
  private dead: ProcessId | undefined;
  private wake: () => void = () => undefined;
  private readonly retired = new Promise<void>((done) => {
    this.wake = done;
  });

  constructor(
    readonly service: Service,
    /** Called after every change of the public fields. */
    private readonly changed: () => void,
    private readonly note: (line: string) => void,
  ) {}

  record(): StackProcess {
    const { name, log, stop } = this.service;
    const { state, restarts, problem, fingerprint } = this;
    return { name, ...this.id, log, state, restarts, problem, fingerprint, stop };
  }

  /** Ready when it returns. `before`: what an earlier supervisor recorded. Throws `StartFailure`. */
  async bring(before: StackProcess | undefined): Promise<void> {
    if (before && (await this.adopt(before))) return;
    this.dead = before;
    for (let tries = 1; ; tries++) {
      try {
        await this.startOnce();
        return;
      } catch (error) {
        if (this.stopping || tries === START_TRIES || !(error instanceof StartFailure)) throw error;
        this.problem = error.message;
        await this.pause(BACKOFF_MS.first * tries);
      }
    }
  }

  private async adopt(before: StackProcess): Promise<boolean> {
    if (this.service.adopts || !isAlive(before)) return false;
    this.fingerprint = this.service.fingerprint();
    if (before.fingerprint === this.fingerprint && (await this.service.healthy(before))) {
      this.id = { pid: before.pid, started: before.started };
      this.restarts = before.restarts;
      await this.service.settle?.();
      this.become('ready');
      this.note(`${this.service.name}: process ${before.pid} adopted`);
      return true;
    }
    this.note(`${this.service.name}: process ${before.pid} is of another version or does not answer: ended`);
    await endProcess(before, before.stop);
    return false;
  }

  private async startOnce(): Promise<void> {
    const { service } = this;
    const logStart = sizeOf(service.log);
    const deadline = Date.now() + service.startLimitMs;
    this.become(this.state === 'waiting' ? 'starting' : this.state);
    await this.bury();
    try {
      this.fingerprint = service.fingerprint();
      this.id = await service.start();
    } catch (error) {
      throw this.failure(error instanceof Error ? error.message : String(error), logStart);
    }
    this.changed();
    for (let wait = 50; !(await service.healthy(this.id)); wait = Math.min(wait * 1.3, 500)) {
      if (this.stopping) {
        await endProcess(this.id, service.stop);
        throw this.failure('stopped while starting', logStart);
      }
      if (!isAlive(this.id)) throw this.failure('the process ended', logStart);
      if (Date.now() > deadline) {
        await endProcess(this.id, service.stop);
        throw this.failure(`not ready after ${service.startLimitMs / 1000} s`, logStart);
      }
      await this.pause(wait);
    }
    await service.settle?.();
    this.problem = null;
    this.become('ready');
    this.note(`${service.name}: process ${this.id.pid} ready`);
  }

  private async bury(): Promise<void> {
    const { dead, service } = this;
    if (!dead || dead.pid === 0 || !service.bury) return;
    try {
      const what = await service.bury(dead);
      if (what) this.note(`${service.name}: ${what}`);
      this.dead = undefined;
    } catch (error) {
      // Who waits for the dead has a clock of their own.
      this.note(`${service.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private failure(reason: string, logStart: number): StartFailure {
    const said = tail(this.service.log, logStart);
    const words = said === '' ? '' : `\n    ${said.replaceAll('\n', '\n    ')}`;
    return new StartFailure(`${this.service.name}: ${reason} (log: ${this.service.log})${words}`);
  }

  /** Until `stop`: restarts after every death. Never throws; a start that fails is tried again, ever more slowly. */
  async keep(): Promise<void> {
    let backoff: number = BACKOFF_MS.first;
    while (!this.stopping) {
      const since = Date.now();
      const reason = await this.watch();
      if (this.stopping) return;
      if (Date.now() - since > STABLE_AFTER_MS) backoff = BACKOFF_MS.first;
      this.note(`${this.service.name}: process ${this.id.pid} ${reason}, starting again`);
      this.restarts++;
      this.dead = this.id;
      this.become('restarting');
      for (;;) {
        await this.pause(backoff);
        backoff = Math.min(backoff * 2, BACKOFF_MS.longest);
        if (this.stopping) return;
        try {
          await this.startOnce();
          break;
        } catch (error) {
          if (this.stopping) return;
          this.problem = error instanceof Error ? error.message : String(error);
          this.note(this.problem);
          this.changed();
        }
      }
    }
  }

  /** Returns why the process has to be started again. */
  private async watch(): Promise<string> {
    let answered = Date.now();
    let asked = Date.now();
    while (!this.stopping) {
      await this.pause(LOOK_EVERY_MS);
      if (!isAlive(this.id)) return 'ended';
      if (Date.now() - asked < HEALTH_EVERY_MS) continue;
      boundLog(this.service.log);
      if (await this.service.healthy(this.id)) answered = Date.now();
      asked = Date.now();
      if (!this.stopping && asked - answered > HUNG_AFTER_MS) {
        signal(this.id, 'SIGKILL');
        await gone(this.id, 5_000);
        return `has not answered for ${HUNG_AFTER_MS / 1000} s: killed`;
      }
    }
    return 'is stopped';
  }

  /** No restart from here on. The process itself is ended by whoever called. */
  retire(): void {
    this.stopping = true;
    this.wake();
  }

  private async pause(ms: number): Promise<void> {
    await Promise.race([sleep(ms), this.retired]);
  }

  become(state: ProcessState): void {
    this.state = state;
    this.changed();
  }
}

/** Ends the process by its plan; done when it is gone. Throws when it outlives SIGKILL by 5 s. */
export async function endProcess(id: ProcessId, plan: Service['stop']): Promise<void> {
  if (signal(id, plan.signal) && !(await gone(id, plan.graceMs))) signal(id, 'SIGKILL');
  if (!(await gone(id, 5_000))) throw new Error(`process ${id.pid} does not end, even by SIGKILL`);
}
