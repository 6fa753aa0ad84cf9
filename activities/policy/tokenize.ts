/**
 * How an endpoint reads text as tokens, asked in whichever way it answers:
 *
 * | way          | request                                                      | ids                        | spoken by            |
 * | ------------ | ------------------------------------------------------------ | -------------------------- | -------------------- |
 * | `tokenize`   | `POST /tokenize {model, prompt, add_special_tokens: false}`  | `tokens`                   | vLLM, the trainer    |
 * | `content`    | `POST /tokenize {content, add_special: false}`               | `tokens`                   | llama.cpp            |
 * | `completion` | `POST /v1/completions`, one token, `return_token_ids: true`  | `choices[0].prompt_token_ids` | vLLM behind a proxy |
 *
 * `/tokenize` lies beside `/v1`. llama.cpp answers vLLM's request with an empty list, since it knows no `prompt`.
 */
import { asFault, Fault, UsageError } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import type { TokenizeWay } from '../../core/parity.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { excerpt } from './unreadable.js';

export interface EndpointTokenizer {
  readonly way: TokenizeWay;
  /** Ids of the text as the engine sees it, control tokens included. Throws `Fault('policy')`. */
  ids(text: string, signal: AbortSignal): Promise<number[]>;
}

/** A text that every tokenizer gives at least one id for. */
const PROBE = 'a';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Finds the way by asking. Throws `UsageError` when the endpoint has none of them, `Fault('policy')` when it does not
 * answer.
 */
export async function endpointTokenizer(endpoint: Endpoint, signal: AbortSignal): Promise<EndpointTokenizer> {
  const refusals: string[] = [];
  for (const way of ['tokenize', 'content', 'completion'] as const) {
    const { path, body, read } = WAYS[way];
    const reply = await post(endpoint, path, body(endpoint.model, PROBE), signal);
    const ids = reply.status < 300 ? read(reply.body) : undefined;
    if (isIds(ids) && ids.length > 0) return { way, ids: (text, inner) => ask(endpoint, way, text, inner) };
    const found = reply.status < 300 ? `no ids in ${excerpt(reply.body)}` : `HTTP ${reply.status}`;
    refusals.push(`${path}: ${found}`);
  }
  throw new UsageError(
    `token parity with ${placeOf(endpoint)}`,
    '/tokenize as vLLM or llama.cpp has it, or choices[0].prompt_token_ids of a completion with return_token_ids',
    [...new Set(refusals)].join('; '),
    'Use a server that says how it reads text, or write "parity: skipped" under model: it is recorded with the campaign.',
  );
}

async function ask(
  endpoint: Endpoint,
  way: TokenizeWay,
  text: string,
  signal: AbortSignal,
): Promise<number[]> {
  const { path, body, read } = WAYS[way];
  const reply = await post(endpoint, path, body(endpoint.model, text), signal);
  const ids = reply.status < 300 ? read(reply.body) : undefined;
  if (isIds(ids)) return ids;
  const found = `HTTP ${reply.status} ${excerpt(reply.body)}`;
  throw new Fault('policy', `${placeOf(endpoint)}: ${path}: expected token ids, found ${found}`, {
    code: reply.status < 300 ? 'unreadable' : `http_${reply.status}`,
  });
}

interface Way {
  readonly path: string;
  readonly body: (model: string, text: string) => JsonObject;
  readonly read: (reply: unknown) => unknown;
}

const WAYS: Readonly<Record<TokenizeWay, Way>> = {
  tokenize: {
    path: '/tokenize',
    body: (model, prompt) => ({ model, prompt, add_special_tokens: false }),
    read: (reply) => at(reply, 'tokens'),
  },
  content: {
    path: '/tokenize',
    body: (_model, content) => ({ content, add_special: false, parse_special: true }),
    read: (reply) => at(reply, 'tokens'),
  },
  completion: {
    path: '/v1/completions',
    body: (model, prompt) => ({
      ...{ model, prompt, max_tokens: 1, temperature: 0 },
      ...{ return_token_ids: true, add_special_tokens: false },
    }),
    read: (reply) => {
      const choices = at(reply, 'choices');
      return Array.isArray(choices) ? at(choices[0], 'prompt_token_ids') : undefined;
    },
  },
};

function at(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0);
}

/** Never throws for what the server refuses: its status says it. Throws `Fault('policy', code: 'unreachable')`. */
async function post(
  { baseUrl, apiKeyEnv }: Endpoint,
  path: string,
  body: JsonObject,
  signal: AbortSignal,
): Promise<Reply> {
  const url = baseUrl.replace(/\/v1\/?$/, '') + path;
  const key = apiKeyEnv === null ? undefined : process.env[apiKeyEnv];
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify(body),
      signal,
    });
    const text = await reply.text();
    return { status: reply.status, body: parsed(text) };
  } catch (error) {
    if (signal.aborted) throw error;
    throw asFault(error, 'policy', { code: 'unreachable' });
  }
}

/** JSON, or the text that came instead. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
