/**
 * One clock for one piece of work, under the caller's own signal.
 *
 * Clients of libraries time out in their own ways, or not at all: every wait of ours goes through here, so that a
 * deadline is always a `Fault('deadline')` that says how long was allowed, and cancellation always passes through.
 * Clocks that lie inside each other can be held together: waiting for a provider's capacity is nobody's slowness.
 */
import { Fault, type FaultKind } from './faults.js';

export interface Deadline {
  readonly ms: number;
  /** What was being waited for, for the message: `tool call "refund" of server "retail"`. */
  readonly what: string;
  /** `deadline` unless the boundary has its own word for being late, e.g. a sandbox that does not start. */
  readonly kind?: FaultKind;
  readonly code?: string;
  /** How long the clock may be held in all, ms; longer ends the work too. For ever when absent. */
  readonly heldMs?: number;
}

/**
 * Runs `work` with a signal that aborts with the caller's or after `ms`. Settles at the first of: the work, the
 * deadline (`Fault`), the caller's abort (its reason, as thrown). The work is not waited for after that.
 */
export async function withDeadline<T>(
  parent: AbortSignal,
  deadline: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  parent.throwIfAborted();
  const controller = new AbortController();
  let onAbort: (() => void) | undefined;
  let clock: Clock | undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (reason: unknown): void => {
      reject(reason);
      controller.abort(reason);
    };
    onAbort = () => stop(parent.reason);
    parent.addEventListener('abort', onAbort, { once: true });
    clock = new Clock(deadline, clocks.get(parent), stop);
    clocks.set(controller.signal, clock);
  });
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clock?.stop();
    if (onAbort) parent.removeEventListener('abort', onAbort);
  }
}

/**
 * Holds the clock that gave this signal, and those around it, until the returned function is called (once; further
 * calls do nothing). A signal of another origin has no clock, and nothing is held.
 */
export function holdClocks(signal: AbortSignal): () => void {
  const held: Clock[] = [];
  for (let clock = clocks.get(signal); clock; clock = clock.around) {
    clock.hold();
    held.push(clock);
  }
  return () => {
    for (const clock of held.splice(0)) clock.release();
  };
}

/** How long the clock that gave this signal has been held so far, ms. */
export function heldMs(signal: AbortSignal): number {
  return clocks.get(signal)?.held ?? 0;
}

const clocks = new WeakMap<AbortSignal, Clock>();

/** Runs down while nobody holds it. Several may hold it at a time. */
class Clock {
  private holders = 0;
  private leftMs: number;
  private heldBefore = 0;
  /** When it began to run, or to be held. */
  private since = performance.now();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly deadline: Deadline,
    readonly around: Clock | undefined,
    private readonly stopWork: (reason: Fault) => void,
  ) {
    this.leftMs = Math.max(0, deadline.ms);
    this.run();
  }

  get held(): number {
    return this.heldBefore + (this.holders > 0 ? performance.now() - this.since : 0);
  }

  hold(): void {
    this.holders += 1;
    if (this.holders > 1) return;
    const now = performance.now();
    this.leftMs = Math.max(0, this.leftMs - (now - this.since));
    this.since = now;
    clearTimeout(this.timer);
    const { heldMs: most } = this.deadline;
    if (most === undefined) return;
    this.timer = setTimeout(() => this.stopWork(waited(this.deadline, most)), Math.max(0, most - this.held));
  }

  release(): void {
    this.holders -= 1;
    if (this.holders > 0) return;
    const now = performance.now();
    this.heldBefore += now - this.since;
    this.since = now;
    this.run();
  }

  stop(): void {
    clearTimeout(this.timer);
    // What still holds it lets go of a clock that nobody reads.
    this.leftMs = Number.POSITIVE_INFINITY;
  }

  private run(): void {
    clearTimeout(this.timer);
    if (this.leftMs === Number.POSITIVE_INFINITY) return;
    this.timer = setTimeout(() => this.stopWork(late(this.deadline)), this.leftMs);
  }
}

function late({ ms, what, kind = 'deadline', code }: Deadline): Fault {
  const message = `${what} took longer than ${ms / 1000} s`;
  return new Fault(kind, message, code === undefined ? {} : { code });
}

function waited({ what }: Deadline, ms: number): Fault {
  return new Fault('deadline', `${what} waited longer than ${ms / 1000} s for capacity`, {
    code: 'no_capacity',
  });
}
