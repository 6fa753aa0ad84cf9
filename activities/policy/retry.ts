/**
 * The bounded in-place retry of one request.
 *
 * Overload (429), server errors (5xx) and lost connections: the same request again, waiting as the server asks,
 * else longer each time; then a fault that another try may help. Any other 4xx: a fault that names the cause and
 * is not tried again (`refusals.ts`). A retry repeats one turn; it never repeats what the agent did.
 */
import { Fault } from '../../core/faults.js';
import type { Endpoint } from './endpoint.js';
import { classify } from './refusals.js';

export interface RetryPlan {
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export const TURN_RETRIES: RetryPlan = { attempts: 4, firstDelayMs: 250, maxDelayMs: 8_000 };

/** A server that asks for a longer pause than this is not waited for. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Sends one request, again where that can help. Throws `Fault` of the endpoint's kind, or the signal's reason. */
export async function request<T>(
  endpoint: Endpoint,
  signal: AbortSignal,
  send: () => Promise<T>,
  plan: RetryPlan = TURN_RETRIES,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await send();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof Fault) throw error;
      const refusal = classify(endpoint, error);
      const delay = refusal.retryAfterMs ?? backoff(plan, attempt);
      if (!refusal.again || attempt >= plan.attempts || delay > MAX_RETRY_AFTER_MS) throw refusal.fault;
      await pause(delay, signal);
    }
  }
}

/** Spread out, or all episodes that met one overload come back at the same moment. */
function backoff({ firstDelayMs, maxDelayMs }: RetryPlan, attempt: number): number {
  return Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs) * (0.5 + Math.random() / 2);
}

/** Waits, or throws the signal's reason as soon as it aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
