/**
 * One completion from an endpoint, streamed where it is offered: the reply as an unstreamed request brings it.
 *
 * A stream is folded into that same reply, so that one reader checks both, and a turn is the same however it came.
 */
import { isUtf8 } from 'node:buffer';
import { APIError } from 'openai';
import { hideInJson } from '../../core/secrets.js';
import { admitted } from './admission.js';
import { type Endpoint, openAi } from './endpoint.js';
import { events } from './event-stream.js';
import { bodyOf } from './http-fetch.js';
import { type RetryPlan, request } from './retry.js';
import { type Fields, unreadable } from './unreadable.js';

/** Puts the chunks of a stream together. Both methods throw `Fault`, naming the field. */
export interface Fold {
  add(chunk: Fields): void;
  /** Tokens so far; for chat endpoints pieces, about one a token. */
  readonly count: number;
  /** Throws `StreamLacks` for what only streams of this server leave out. */
  reply(): Fields;
}

export interface Completing {
  readonly path: '/completions' | '/chat/completions';
  readonly body: Fields;
  readonly signal: AbortSignal;
  /** Absent: never streamed, whatever the endpoint's option says. */
  readonly stream?: Streaming;
  /** That of a turn when absent. */
  readonly retries?: RetryPlan;
}

interface Streaming {
  /** What a streamed request has beside `stream: true`. */
  readonly body: Fields;
  readonly fold: () => Fold;
  /** As asked for: bounds the stream. */
  readonly maxTokens: number;
  readonly onProgress?: ((count: number) => void) | undefined;
}

/** A server that streams, but not all that is needed. */
export class StreamLacks extends Error {
  constructor(readonly field: string) {
    super(`the stream has no ${field}`);
  }
}

/** Silence in the middle of a stream; engines write a token every few milliseconds. */
const IDLE_MS = 60_000;
/** A token with its log-probability is about 0.4 kB of stream, with the twenty likeliest 2 kB. */
const STREAM_BYTES = { base: 1_048_576, perToken: 4_096 } as const;

/** Endpoints that were asked for a stream and had none, by URL and path: their answer does not change. */
const unstreamed = new Set<string>();

/** Throws `Fault` of the endpoint's kind, or the signal's reason. */
export function complete(endpoint: Endpoint, completing: Completing): Promise<unknown> {
  const { body, signal, retries } = completing;
  const send = () => admitted(endpoint, body, signal, () => once(endpoint, completing));
  return request(endpoint, signal, send, retries);
}

async function once(endpoint: Endpoint, completing: Completing): Promise<unknown> {
  const { stream: wanted = false, baseUrl } = endpoint;
  const { stream, path } = completing;
  const id = `${baseUrl} ${path}`;
  if (!stream || wanted === false || (wanted === 'auto' && unstreamed.has(id)))
    return whole(endpoint, completing);
  try {
    return await streamed(endpoint, completing, stream);
  } catch (error) {
    if (wanted === 'auto' && refusesStream(error)) {
      unstreamed.add(id);
      // One more request, with a turn of its own where turns are limited.
      return complete(endpoint, completing);
    }
    if (!(error instanceof StreamLacks)) throw error;
    const expected = 'it in the stream (model option stream: false asks for no stream)';
    throw unreadable(endpoint, error.field, expected, undefined);
  }
}

const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 422, 501]);

function refusesStream(error: unknown): boolean {
  if (error instanceof StreamLacks) return true;
  return error instanceof APIError && REFUSALS.has(error.status) && /stream/i.test(error.message);
}

async function whole(endpoint: Endpoint, { path, body, signal }: Completing): Promise<unknown> {
  return jsonReply(endpoint, await openAi(endpoint).post(path, { body, signal }).asResponse());
}

async function streamed(endpoint: Endpoint, completing: Completing, stream: Streaming): Promise<unknown> {
  const { path, signal } = completing;
  const body = { ...completing.body, ...stream.body, stream: true };
  const response = await openAi(endpoint).post(path, { body, signal }).asResponse();
  // Servers without streams tend to answer as if none had been asked for.
  if (endpoint.stream === 'auto' && isJson(response)) return jsonReply(endpoint, response);
  if (!isStream(response) || !response.body)
    throw unreadable(endpoint, 'content-type', 'text/event-stream', typeOf(response));
  const encoding = encodingOf(response);
  if (encoding) {
    await response.body.cancel();
    throw unreadable(endpoint, 'content-encoding', 'none', encoding);
  }
  const maxBytes = STREAM_BYTES.base + STREAM_BYTES.perToken * stream.maxTokens;
  const limits = { idleMs: endpoint.idleMs ?? IDLE_MS, maxBytes };
  const fold = stream.fold();
  for await (const chunk of events(endpoint, response.body, limits)) {
    fold.add(chunk);
    stream.onProgress?.(fold.count);
  }
  const reply = fold.reply();
  // Only who was sent a key can repeat it; across chunks it is found in what they make.
  return endpoint.apiKeyEnv === null ? reply : hideInJson(reply);
}

/** The body of a whole reply. Throws `Fault(code: 'unreadable')`. */
export async function jsonReply(endpoint: Endpoint, response: Response): Promise<unknown> {
  if (isStream(response)) {
    await response.body?.cancel();
    throw unreadable(endpoint, 'the reply', 'a JSON object', 'an event stream that nobody asked for');
  }
  const encoding = encodingOf(response);
  if (encoding) throw unreadable(endpoint, 'content-encoding', 'none', encoding);
  const bytes = bodyOf(response);
  const text = bytes.toString('utf8');
  if (!isJson(response))
    throw unreadable(endpoint, 'the reply', 'a JSON object', `${typeOf(response)} ${text}`.trim());
  if (!isUtf8(bytes)) throw unreadable(endpoint, 'the reply', 'UTF-8', text);
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable(endpoint, 'the reply', 'JSON', text);
  }
}

/** None was asked for (`http-fetch.ts`), so one is a proxy's own idea, and nobody here undoes it. */
function encodingOf({ headers }: Response): string | undefined {
  const encoding = headers.get('content-encoding') ?? 'identity';
  return encoding === 'identity' ? undefined : encoding;
}

function typeOf(response: Response): string {
  return response.headers.get('content-type') ?? '';
}

function isJson(response: Response): boolean {
  return /\bjson\b/.test(typeOf(response));
}

function isStream(response: Response): boolean {
  return typeOf(response).startsWith('text/event-stream');
}
