/**
 * What an endpoint's refusal means, decided once, and the bounded in-place retry of one request.
 *
 * Overload (429), server errors (5xx) and lost connections: the same request again, waiting as the server asks,
 * else longer each time; then a fault that another try may help. Any other 4xx: a fault that names the cause and
 * is not tried again. A retry repeats one turn; it never repeats what the agent did.
 */
import { APIConnectionError, APIError } from 'openai';
import { Fault, UsageError } from '../../core/faults.js';
import { type Endpoint, placeOf } from './endpoint.js';

export interface RetryPlan {
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export const TURN_RETRIES: RetryPlan = { attempts: 4, firstDelayMs: 250, maxDelayMs: 8_000 };

/** A server that asks for a longer pause than this is not waited for. */
const MAX_RETRY_AFTER_MS = 60_000;

/** How servers say that a request does not fit the model's context. */
const CONTEXT_WORDS = /context length|maximum context|max_model_len|too many tokens/i;

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
      const delay = refusal.retryAfterMs ?? Math.min(plan.firstDelayMs * 2 ** (attempt - 1), plan.maxDelayMs);
      if (!refusal.again || attempt >= plan.attempts || delay > MAX_RETRY_AFTER_MS) throw refusal.fault;
      await pause(delay, signal);
    }
  }
}

interface Refusal {
  readonly fault: Fault;
  /** The same request may succeed in a moment. */
  readonly again: boolean;
  readonly retryAfterMs?: number;
}

export function classify(endpoint: Endpoint, error: unknown): Refusal {
  const place = placeOf(endpoint);
  if (error instanceof APIConnectionError) {
    const fault = new Fault(endpoint.kind, `${place}: ${connectionReason(error)}`, {
      cause: error,
      code: 'unreachable',
    });
    return { fault, again: true };
  }
  if (error instanceof APIError && typeof error.status === 'number')
    return refused(endpoint, error, error.status);
  if (error instanceof UsageError) {
    const fault = new Fault(endpoint.kind, error.message, { cause: error, code: 'no_key', retry: false });
    return { fault, again: false };
  }
  const message = `${place}: expected a JSON reply, found ${error instanceof Error ? error.message : String(error)}`;
  return { fault: new Fault(endpoint.kind, message, { cause: error, code: 'unreadable' }), again: false };
}

function refused(endpoint: Endpoint, error: APIError, status: number): Refusal {
  const message = `${placeOf(endpoint)}: HTTP ${error.message.slice(0, 500)}`;
  const fault = (code: string, retry: boolean): Fault =>
    new Fault(endpoint.kind, message, { cause: error, code, retry });
  if (error.code === 'weights_unavailable')
    return { fault: fault('weights_unavailable', true), again: false };
  if (status === 429 || status >= 500 || status === 408) {
    const retryAfterMs = retryAfter(error.headers);
    const again = { fault: fault(status === 429 ? 'rate_limited' : 'server_error', true), again: true };
    return retryAfterMs === undefined ? again : { ...again, retryAfterMs };
  }
  const told = error.code === 'prompt_too_long' || CONTEXT_WORDS.test(message);
  return {
    fault: fault(status === 400 && told ? 'context_overflow' : `http_${status}`, false),
    again: false,
  };
}

/** `retry-after` in seconds or as a date, in ms. */
function retryAfter(headers: Headers | undefined): number | undefined {
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function connectionReason(error: APIConnectionError): string {
  const inner = error.cause instanceof Error ? (error.cause.cause ?? error.cause) : undefined;
  return inner instanceof Error ? `${error.message} ${inner.message}` : error.message;
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
