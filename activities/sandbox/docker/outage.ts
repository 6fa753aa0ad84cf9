/**
 * An engine that goes away while something is started on it: being started again, hanging, updated. That is nobody's
 * failure: what was begun is taken back as soon as the engine answers, and begun anew, for a bounded time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { Fault } from '../../../core/faults.js';

/** Between two looks at an engine that does not answer. */
const AGAIN_MS = 500;
/** An engine that is about to end kills what is started on it, and refuses it, while it still answers: so often at most. */
const MOST_TURNED_AWAY = 5;
/** An engine that hangs takes connections and says nothing. */
const PING_MS = 5_000;

/** How the system says that nothing listens there, or that who listened has gone. */
const GONE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'ECONNABORTED', 'EPIPE']);

export interface OutageOptions {
  readonly signal: AbortSignal;
  /** How long all of it may take before an outage is an error after all, ms. */
  readonly waitMs: number;
  /** Between two looks, and before the first new beginning, ms. */
  readonly againMs?: number;
  /** Takes back what the last `work` may have left in the engine; called when it answers again. */
  readonly takeBack: () => Promise<unknown>;
}

/** What `work` gives, begun again after every outage. Throws what it throws, of the last outage when `waitMs` is over. */
export async function throughOutages<T>(
  engine: Docker,
  { signal, waitMs, againMs = AGAIN_MS, takeBack }: OutageOptions,
  work: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + waitMs;
  const over = (): boolean => signal.aborted || performance.now() + againMs > until;
  for (let turnedAway = 0; ; ) {
    try {
      return await work();
    } catch (error) {
      if (over() || (error instanceof Fault && !error.retry)) throw error;
      if (!engineGone(error) && (await answers(engine))) {
        if (!engineEnded(error) || turnedAway === MOST_TURNED_AWAY) throw error;
        await sleep(againMs * 2 ** turnedAway);
        turnedAway += 1;
      }
      while (!(await answers(engine))) {
        if (over()) throw error;
        await sleep(againMs);
      }
      // Gone again: the next round says so.
      await takeBack().catch(() => undefined);
    }
  }
}

/** Whether the engine has killed what was started, or failed to start it for a reason of its own. */
function engineEnded(error: unknown): boolean {
  return causes(error).some(({ code, statusCode = 0 }) => code === 'killed' || statusCode >= 500);
}

/** Whether an error, or what caused it, says that the engine's side of a connection is no more. */
function engineGone(error: unknown): boolean {
  return causes(error).some(({ code }) => code === 'engine_lost' || (code !== undefined && GONE.has(code)));
}

interface Said {
  /** Of the system, or of a fault of ours. */
  readonly code?: string;
  /** Of the engine's answer. */
  readonly statusCode?: number;
}

function causes(error: unknown): readonly Said[] {
  return error instanceof Error ? [error as Said, ...causes(error.cause)] : [];
}

/** The client's types know of no signal here; the client does. */
type Ping = { ping(options: { readonly abortSignal: AbortSignal }): Promise<unknown> };

export async function answers(engine: Docker): Promise<boolean> {
  try {
    await (engine as unknown as Ping).ping({ abortSignal: AbortSignal.timeout(PING_MS) });
    return true;
  } catch {
    return false;
  }
}
