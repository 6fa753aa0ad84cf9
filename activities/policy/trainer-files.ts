/** What a token endpoint says about its model outside the OpenAI API: tokenizer files, and `/tokenize` as vLLM has it. */
import { asFault, Fault } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';
import { excerpt } from './chat-model.js';

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

/** `POST /tokenize`: ids as the engine sees the text, control tokens included. Throws `Fault('policy')`. */
export async function tokenize(
  baseUrl: string,
  text: string,
  model: string,
  signal: AbortSignal,
): Promise<number[]> {
  const url = beside(baseUrl, '/tokenize');
  const body = JSON.stringify({ model, prompt: text, add_special_tokens: false });
  const headers = { 'content-type': 'application/json' };
  const { tokens } = await json(url, { method: 'POST', headers, body, signal });
  if (!Array.isArray(tokens)) throw unreadable(url, 'tokens', tokens);
  return tokens as number[];
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
