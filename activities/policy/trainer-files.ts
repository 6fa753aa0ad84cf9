/** What a token endpoint says about its model outside the OpenAI API: tokenizer files, and the length of its context. */
import { asFault, Fault } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';
import type { Endpoint } from './endpoint.js';
import { excerpt } from './unreadable.js';

/** `baseUrl` ends in `/v1`; these calls live beside it. */
function beside(baseUrl: string, path: string): string {
  return baseUrl.replace(/\/v1\/?$/, '') + path;
}

/** `GET /tokenizer` of the trainer. Throws `Fault('policy')`. */
export async function fetchModelFiles(baseUrl: string, signal: AbortSignal): Promise<ModelFiles> {
  const url = beside(baseUrl, '/tokenizer');
  const { tokenizer, config } = await json(url, { signal });
  if (!isObject(tokenizer) || !isObject(config)) throw unreadable(url, 'tokenizer and config', tokenizer);
  return { tokenizer, config };
}

/** Tokens that the endpoint's model can look at (`max_model_len`, as vLLM calls it). Throws `Fault('policy')`. */
export async function contextTokens(baseUrl: string, signal: AbortSignal): Promise<number> {
  const { max_model_len: found } = await post(
    baseUrl,
    '/tokenize',
    { prompt: '', add_special_tokens: false },
    signal,
  );
  if (typeof found !== 'number') throw unreadable(beside(baseUrl, '/tokenize'), 'max_model_len', found);
  return found;
}

/**
 * The same of a server that is not the trainer: `max_model_len` of the model in `GET /v1/models`, as vLLM has it, or
 * `meta.n_ctx_train`, as llama.cpp has it. Throws `Fault('policy')`.
 */
export async function servedContext(
  { baseUrl, model, apiKeyEnv }: Pick<Endpoint, 'baseUrl' | 'model' | 'apiKeyEnv'>,
  signal: AbortSignal,
): Promise<number> {
  const url = `${baseUrl.replace(/\/$/, '')}/models`;
  const key = apiKeyEnv === null ? undefined : process.env[apiKeyEnv];
  const { data } = await json(url, { signal, headers: key ? { authorization: `Bearer ${key}` } : {} });
  const entry = Array.isArray(data) ? data.find((each) => isObject(each) && each.id === model) : undefined;
  if (!isObject(entry)) throw unreadable(url, `an entry of model ${model}`, data);
  const { max_model_len: length, meta } = entry;
  const found = length ?? (isObject(meta) ? meta.n_ctx_train : undefined);
  if (typeof found !== 'number') throw unreadable(url, `max_model_len of model ${model}`, entry);
  return found;
}

function post(baseUrl: string, path: string, body: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  const headers = { 'content-type': 'application/json' };
  return json(beside(baseUrl, path), { method: 'POST', headers, body: JSON.stringify(body), signal });
}

async function json(url: string, init: RequestInit): Promise<JsonObject> {
  let text: string;
  try {
    const reply = await fetch(url, init);
    text = await reply.text();
    if (!reply.ok)
      throw new Fault('policy', `${url}: HTTP ${reply.status} ${excerpt(text)}`, {
        code: `http_${reply.status}`,
      });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw asFault(error, 'policy', { code: 'unreachable' });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below, with what came instead.
  }
  throw unreadable(url, 'a JSON object', text);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unreadable(url: string, expected: string, found: unknown): Fault {
  return new Fault('policy', `${url}: expected ${expected}, found ${excerpt(found)}`, { code: 'unreadable' });
}
