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
import { Fault, UsageError } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import type { TokenizeWay } from '../../core/parity.js';
import { askBeside, besideUrl } from './beside.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { excerpt, unreadable } from './unreadable.js';

export interface EndpointTokenizer {
  readonly way: TokenizeWay;
  /** Ids of the text as the engine sees it, control tokens included. Throws `Fault('policy')`. */
  ids(text: string, signal: AbortSignal): Promise<number[]>;
}

/** A text that every tokenizer gives at least one id for. */
const PROBE = 'a';

/** How servers say that they have nothing at this address, or nothing that is asked for like this. */
const NOT_OFFERED: ReadonlySet<string | undefined> = new Set(
  [400, 404, 405, 422, 501].map((status) => `http_${status}`),
);

/**
 * Finds the way by asking. Throws `UsageError` when the endpoint has none of them, `Fault('policy')` when it does not
 * answer, is overloaded, or refuses the key: nothing was learnt then of what it has.
 */
export async function endpointTokenizer(endpoint: Endpoint, signal: AbortSignal): Promise<EndpointTokenizer> {
  const refusals: string[] = [];
  for (const way of ['tokenize', 'content', 'completion'] as const) {
    const { path } = WAYS[way];
    const found = await probe(endpoint, way, signal);
    if (typeof found !== 'string') return { way, ids: (text, inner) => ask(endpoint, way, text, inner) };
    refusals.push(`${path}: ${found}`);
  }
  throw new UsageError(
    `token parity with ${placeOf(endpoint)}`,
    '/tokenize as vLLM or llama.cpp has it, or choices[0].prompt_token_ids of a completion with return_token_ids',
    [...new Set(refusals)].join('; '),
    'Use a server that says how it reads text, or write "parity: skipped" under model: it is recorded with the campaign.',
  );
}

/** Ids of the probe, or in words what came instead. */
async function probe(
  endpoint: Endpoint,
  way: TokenizeWay,
  signal: AbortSignal,
): Promise<readonly number[] | string> {
  const { path, body, read } = WAYS[way];
  try {
    const reply = await askBeside(endpoint, { path, body: body(endpoint.model, PROBE) }, signal);
    const ids = read(reply);
    return isIds(ids) && ids.length > 0 ? ids : `no ids in ${excerpt(reply)}`;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code !== 'unreadable' && !NOT_OFFERED.has(error.code)) throw error;
    // The address stands before it, and again in the message.
    return error.message.replace(
      `${placeOf({ ...endpoint, baseUrl: besideUrl(endpoint.baseUrl, path) })}: `,
      '',
    );
  }
}

async function ask(
  endpoint: Endpoint,
  way: TokenizeWay,
  text: string,
  signal: AbortSignal,
): Promise<number[]> {
  const { path, body, read } = WAYS[way];
  const reply = await askBeside(endpoint, { path, body: body(endpoint.model, text) }, signal);
  const ids = read(reply);
  if (isIds(ids)) return ids;
  const place = { ...endpoint, baseUrl: besideUrl(endpoint.baseUrl, path) };
  throw unreadable(place, 'the reply', 'token ids', reply);
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
