/**
 * What an endpoint's refusal means, decided once.
 *
 * | what came                                   | code                  | the same request again | another try |
 * | ------------------------------------------- | --------------------- | ---------------------- | ----------- |
 * | 429                                         | `rate_limited`        | yes                    | yes         |
 * | 429 for a spent quota                       | `quota`               | no                     | no          |
 * | 408, 5xx but 501                            | `server_error`        | yes                    | yes         |
 * | connection refused, reset, cut              | `unreachable`         | yes                    | yes         |
 * | a stream that stalls                        | `stalled`             | yes                    | yes         |
 * | weights that the trainer does not have      | `weights_unavailable` | no                     | yes         |
 * | the conversation does not fit the context   | `context_full`        | no                     | no          |
 * | any other status                            | `http_<status>`       | no                     | no          |
 * | a reply that cannot be read                 | `unreadable`          | no                     | yes         |
 *
 * An error event in the middle of a stream is read by the same table, by the status that it names, else as a 500.
 */
import { APIConnectionError, APIError } from 'openai';
import { Fault, UsageError } from '../../core/faults.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { EndlessReply } from './http-fetch.js';

export interface Refusal {
  readonly fault: Fault;
  /** The same request may succeed in a moment. */
  readonly again: boolean;
  /** How long the server asks to wait, ms. */
  readonly retryAfterMs?: number;
}

/** A stream that ended before it was complete, or that nothing more came of. */
export class BrokenStream extends Error {
  constructor(
    readonly code: 'unreachable' | 'stalled',
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** How vLLM, OpenAI, llama.cpp, SGLang and the trainer say that a request does not fit the model's context. */
const CONTEXT_CODES: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'prompt_too_long',
]);
const CONTEXT_WORDS =
  /context[ _](?:length|window|size)|maximum context|max_model_len|too many tokens|prompt is too long|input is too long/i;
const CONTEXT_STATUS: ReadonlySet<number> = new Set([400, 413, 422]);
/** A quota that is spent comes back when somebody pays, not in a minute. */
const QUOTA = 'insufficient_quota';
const NOT_IMPLEMENTED = 501;

export function classify(endpoint: Endpoint, error: unknown): Refusal {
  const place = placeOf(endpoint);
  const fault = (message: string, code: string, retry = true): Fault =>
    new Fault(endpoint.kind, message, { cause: error, code, retry });
  if (error instanceof BrokenStream)
    return { fault: fault(`${place}: ${error.message}`, error.code), again: true };
  if (error instanceof APIConnectionError) {
    const found = connectionReason(error);
    if (isNoReply(error.cause)) return { fault: fault(`${place}: ${found}`, 'unreachable'), again: true };
    return {
      fault: fault(`${place}: expected a readable reply, found ${found}`, 'unreadable'),
      again: false,
    };
  }
  if (error instanceof APIError) return refused(endpoint, error, error.status ?? statusOf(error));
  if (error instanceof UsageError) return { fault: fault(error.message, 'no_key', false), again: false };
  const found = error instanceof Error ? error.message : String(error);
  return { fault: fault(`${place}: expected a JSON reply, found ${found}`, 'unreadable'), again: false };
}

function refused(endpoint: Endpoint, error: APIError, status: number): Refusal {
  // The client's own messages begin with the status, those of a stream do not.
  const told = error.status === undefined ? `${status} ${error.message}` : error.message;
  const message = `${placeOf(endpoint)}: HTTP ${told.slice(0, 500)}`;
  const fault = (code: string, retry: boolean): Fault =>
    new Fault(endpoint.kind, message, { cause: error, code, retry });
  if (error.code === 'weights_unavailable')
    return { fault: fault('weights_unavailable', true), again: false };
  if (error.code === QUOTA || error.type === QUOTA) return { fault: fault('quota', false), again: false };
  if (isContext(error, status, message)) return { fault: fault('context_full', false), again: false };
  if (status === 429 || status === 408 || (status >= 500 && status !== NOT_IMPLEMENTED)) {
    const retryAfterMs = retryAfter(error.headers);
    const again = { fault: fault(status === 429 ? 'rate_limited' : 'server_error', true), again: true };
    return retryAfterMs === undefined ? again : { ...again, retryAfterMs };
  }
  return { fault: fault(`http_${status}`, false), again: false };
}

function isContext(error: APIError, status: number, message: string): boolean {
  if (CONTEXT_CODES.has(error.code) || CONTEXT_CODES.has(error.type)) return true;
  return CONTEXT_STATUS.has(status) && CONTEXT_WORDS.test(message);
}

/** The status of an error event: vLLM, SGLang and llama.cpp write it as the code, OpenAI has words for it. */
function statusOf(error: APIError): number {
  const code: unknown = error.code;
  if (typeof code === 'number' && code >= 400 && code < 600) return code;
  if (CONTEXT_CODES.has(code) || error.type === 'invalid_request_error') return 400;
  return code === QUOTA || code === 'rate_limit_exceeded' ? 429 : 500;
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; in ms. */
function retryAfter(headers: Headers | undefined): number | undefined {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Whether nothing came, or not all of it; else what came was not to be had in any number of requests. */
function isNoReply(cause: unknown): boolean {
  return !(cause instanceof EndlessReply || cause instanceof RangeError || cause instanceof TypeError);
}

function connectionReason(error: APIConnectionError): string {
  const cause = error.cause instanceof Error ? (error.cause.cause ?? error.cause) : undefined;
  if (!(cause instanceof Error)) return error.message;
  // Of several addresses none answered: the reasons are inside.
  const inner = cause instanceof AggregateError ? cause.errors.map(String).join('; ') : cause.message;
  return `${error.message} ${inner}`;
}
