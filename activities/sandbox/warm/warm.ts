/** One sandbox that was started ahead of the try that will use it. */
import type { WarmSandbox } from '../../../core/sandbox.js';

/** What is started ahead: attached, running, not yet spoken to. */
export interface Startable {
  /** False as soon as it is known that it has ended. */
  readonly living: boolean;
  /** Called at most once, when it ends by itself. */
  onEnd: (() => void) | undefined;
  /** Throws when something may be left alive. */
  release(): Promise<void>;
}

/** One that was handed out. */
export class Warm<T extends Startable> implements WarmSandbox {
  private used = false;

  constructor(
    readonly name: string,
    readonly sandbox: T,
    /** Unclaimed, it may be there until then; clock of the machine, ms. */
    readonly until: number,
    /** What is written on it, ms. */
    readonly expires: number,
    private readonly noteReleased: () => Promise<void>,
  ) {}

  /** Whoever calls this has it now, and must release it. */
  use(): T {
    this.used = true;
    return this.sandbox;
  }

  async discard(): Promise<void> {
    if (!this.used) await this.end();
  }

  async end(): Promise<void> {
    await this.sandbox.release();
    await this.noteReleased();
  }
}
