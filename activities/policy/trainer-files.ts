/** What a token endpoint says about its model outside the OpenAI API: tokenizer files, and the length of its context. */
import { Fault } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';
import { askBeside, besideUrl } from './beside.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { type Fields, fieldsOf, isCount, unreadable } from './unreadable.js';

export interface TrainerModel {
  readonly files: ModelFiles;
  /** Output format of its family (core/interpret), where the trainer says it. */
  readonly format: string | undefined;
}

/** `GET /tokenizer` of the trainer. Throws `Fault('policy')`. */
export async function fetchTrainerModel(baseUrl: string, signal: AbortSignal): Promise<TrainerModel> {
  const path = '/tokenizer';
  const endpoint = trainerAt(baseUrl);
  const { tokenizer, config, format } = await ask(endpoint, path, signal);
  const files = { tokenizer: fieldsOf(tokenizer), config: fieldsOf(config) };
  if (!files.tokenizer || !files.config)
    throw unreadable(at(endpoint, path), 'tokenizer, config', 'two objects', [tokenizer, config]);
  if (format !== undefined && typeof format !== 'string')
    throw unreadable(at(endpoint, path), 'format', 'a name', format);
  return { files: files as unknown as ModelFiles, format };
}

/** Tokens that the trainer's model can look at (`max_model_len`, as vLLM calls it). Throws `Fault('policy')`. */
export async function contextTokens(baseUrl: string, signal: AbortSignal): Promise<number> {
  const path = '/tokenize';
  const endpoint = trainerAt(baseUrl);
  const body = { prompt: '', add_special_tokens: false };
  const { max_model_len: found } = await ask(endpoint, path, signal, body);
  if (isCount(found) && found > 0) return found;
  throw unreadable(at(endpoint, path), 'max_model_len', 'a number of tokens', found);
}

/**
 * The same of a server that is not the trainer: `max_model_len` of the model in `GET /v1/models`, as vLLM has it, or
 * `meta.n_ctx_train`, as llama.cpp has it. Throws `Fault('policy')`; a server that lists its models without this one,
 * or without its length, says the same when it is asked again.
 */
export async function servedContext(endpoint: Endpoint, signal: AbortSignal): Promise<number> {
  const path = '/v1/models';
  const { data } = await ask(endpoint, path, signal);
  const place = at(endpoint, path);
  if (!Array.isArray(data)) throw unreadable(place, 'data', 'a list of models', data);
  const models = data.map(fieldsOf).filter((model) => model !== undefined);
  const entry = models.find(({ id }) => id === endpoint.model);
  if (!entry) {
    const names = models.map(({ id }) => String(id)).join(', ') || 'none';
    throw refused(place, 'no_model', `data: expected an entry of model ${endpoint.model}, found ${names}`);
  }
  const found = entry.max_model_len ?? fieldsOf(entry.meta)?.n_ctx_train;
  if (isCount(found) && found > 0) return found;
  const expected = 'max_model_len (vLLM) or meta.n_ctx_train (llama.cpp), a number of tokens';
  throw refused(
    place,
    'no_context',
    `entry ${endpoint.model}: expected ${expected}, found ${JSON.stringify(entry)}`,
  );
}

/** Messages name the address asked. */
function at(endpoint: Endpoint, path: string): Endpoint {
  return { ...endpoint, baseUrl: besideUrl(endpoint.baseUrl, path) };
}

function trainerAt(baseUrl: string): Endpoint {
  return { kind: 'policy', baseUrl, model: 'of the trainer', apiKeyEnv: null };
}

function refused(place: Endpoint, code: string, message: string): Fault {
  return new Fault('policy', `${placeOf(place)}: ${message}`, { code, retry: false });
}

async function ask(
  endpoint: Endpoint,
  path: string,
  signal: AbortSignal,
  body?: JsonObject,
): Promise<Fields> {
  const reply = await askBeside(endpoint, body ? { path, body } : { path }, signal);
  const fields = fieldsOf(reply);
  if (!fields) throw unreadable(at(endpoint, path), 'the reply', 'a JSON object', reply);
  return fields;
}
