/**
 * One clock for one piece of work, under the caller's own signal.
 *
 * Clients of libraries time out in their own ways, or not at all: every wait of ours goes through here, so that a
 * deadline is always a `Fault('deadline')` that says how long was allowed, and cancellation always passes through.
 */
import { Fault, type FaultKind } from './faults.js';

export interface Deadline {
  readonly ms: number;
  /** What was being waited for, for the message: `tool call "refund" of server "retail"`. */
  readonly what: string;
  /** `deadline` unless the boundary has its own word for being late, e.g. a sandbox that does not start. */
  readonly kind?: FaultKind;
  readonly code?: string;
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (reason: unknown): void => {
      reject(reason);
      controller.abort(reason);
    };
    onAbort = () => stop(parent.reason);
    parent.addEventListener('abort', onAbort, { once: true });
    timer = setTimeout(() => stop(late(deadline)), Math.max(0, deadline.ms));
  });
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    if (onAbort) parent.removeEventListener('abort', onAbort);
  }
}

function late({ ms, what, kind = 'deadline', code }: Deadline): Fault {
  const message = `${what} took longer than ${ms / 1000} s`;
  return new Fault(kind, message, code === undefined ? {} : { code });
}
