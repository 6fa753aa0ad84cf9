/**
 * What an endpoint says beside its completions: its models, how it reads text, the trainer's tokenizer. Asked with the
 * same client as turns: bounded in size and time, told apart by `refusals.ts`, with the endpoint's key.
 */
import { withDeadline } from '../../core/deadline.js';
import type { JsonObject } from '../../core/message.js';
import { type Endpoint, openAi, placeOf } from './endpoint.js';
import { jsonReply } from './exchange.js';
import { request } from './retry.js';

/** A tokenizer file of 20 MB takes a second. Shorter than the clocks of those who wait for the answer. */
const ANSWER_MS = 20_000;

export interface Question {
  /** `/tokenize`, `/v1/models`: see `besideUrl`. */
  readonly path: string;
  /** Sent with POST; absent: GET. */
  readonly body?: JsonObject;
}

/**
 * The reply as JSON, of any kind. Throws `Fault` of the endpoint's kind that names the address asked: what
 * `refusals.ts` makes of a refusal, `unreadable` for what is no JSON, `no_answer` after 20 s.
 */
export function askBeside(
  endpoint: Endpoint,
  { path, body }: Question,
  signal: AbortSignal,
): Promise<unknown> {
  const at: Endpoint = { ...endpoint, baseUrl: besideUrl(endpoint.baseUrl, path) };
  const { kind } = endpoint;
  const deadline = { ms: ANSWER_MS, what: `the answer of ${placeOf(at)}`, kind, code: 'no_answer' } as const;
  return withDeadline(signal, deadline, (inner) =>
    request(at, inner, async () => {
      const client = openAi(at);
      const sent = body ? client.post('', { body, signal: inner }) : client.get('', { signal: inner });
      return jsonReply(at, await sent.asResponse());
    }),
  );
}

/** What begins with `/v1` lies under the base URL, whatever that ends in; all else lies beside its `/v1`. */
export function besideUrl(baseUrl: string, path: string): string {
  const base = baseUrl.replace(/\/$/, '');
  return path.startsWith('/v1/') ? base + path.slice('/v1'.length) : base.replace(/\/v1$/, '') + path;
}
