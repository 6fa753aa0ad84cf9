/**
 * One reply of a token endpoint (`/v1/completions` as vLLM, SGLang and the trainer answer it), read strictly: ids and
 * log-probabilities are what training stands on, so a field that is missing or does not fit is a fault that names
 * endpoint and field.
 */
import { Fault } from '../../core/faults.js';
import type { SampledTokens } from '../../core/policy.js';
import { type Endpoint, placeOf } from './endpoint.js';
import type { Fold } from './exchange.js';
import { excerpt, type Fields, fieldsOf, onlyChoice, unreadable } from './unreadable.js';

export interface Completion extends SampledTokens {
  readonly finishReason: 'stop' | 'length';
  readonly weightVersion: string;
}

/** What was asked for, as far as a reply is checked against it. */
export interface Asked {
  /** The weights; a reply from others throws `Fault(code: 'wrong_weights')`. */
  readonly weightVersion: string;
  readonly maxTokens: number;
  /** Ids as sent. A server that says which it read (`prompt_token_ids`) must have read these. */
  readonly prompt: readonly number[];
}

/** Where a reply has what was sampled. */
export const IDS = 'choices[0].token_ids';
const LOGPROBS = 'choices[0].logprobs.token_logprobs';

export function readCompletion(endpoint: Endpoint, reply: unknown, asked: Asked): Completion {
  const body = fieldsOf(reply);
  if (!body) throw unreadable(endpoint, 'the reply', 'a JSON object', reply);
  const choice = onlyChoice(endpoint, body.choices);
  if (!choice) throw unreadable(endpoint, 'choices[0]', 'an object', body.choices);
  const { weightVersion, maxTokens } = asked;
  requireWeights(endpoint, weightsOf(body), weightVersion);
  const finishReason = choice.finish_reason;
  if (finishReason !== 'stop' && finishReason !== 'length') {
    throw unreadable(endpoint, 'choices[0].finish_reason', '"stop" or "length"', finishReason);
  }
  requirePrompt(endpoint, choice.prompt_token_ids, asked.prompt);
  const { ids, logprobs } = tokensOf(endpoint, choice, '');
  if (ids.length > maxTokens)
    throw unreadable(endpoint, IDS, `at most ${maxTokens} ids, as asked`, `${ids.length}`);
  const sampled = { ids: Int32Array.from(ids), logprobs: Float32Array.from(logprobs) };
  return { ...sampled, finishReason, weightVersion };
}

/** The chunks of a streamed completion: each carries the ids and log-probabilities of its own tokens. */
export function completionFold(endpoint: Endpoint, asked: Asked): Fold {
  const ids: number[] = [];
  const logprobs: number[] = [];
  let first: Fields = {};
  let weights: unknown;
  let finishReason: unknown;
  let chunks = 0;
  return {
    add(chunk) {
      chunks += 1;
      const choice = onlyChoice(endpoint, chunk.choices);
      // The last chunk may carry nothing but usage.
      if (!choice) return;
      weights = weightsOf(chunk);
      requireWeights(endpoint, weights, asked.weightVersion);
      if (chunks === 1) first = { prompt_token_ids: choice.prompt_token_ids };
      finishReason = choice.finish_reason ?? finishReason;
      // Only a chunk without text may be one without tokens, e.g. to say why it ended.
      if ((choice.token_ids ?? undefined) === undefined && (choice.text ?? '') === '') return;
      const tokens = tokensOf(endpoint, choice, `chunk ${chunks}: `);
      for (const [index, id] of tokens.ids.entries()) {
        ids.push(id);
        logprobs.push(tokens.logprobs[index]!);
      }
      if (ids.length > asked.maxTokens)
        throw unreadable(endpoint, IDS, `at most ${asked.maxTokens} ids, as asked`, `${ids.length} so far`);
    },
    get count() {
      return ids.length;
    },
    reply() {
      if (weights === undefined) return { choices: [] };
      const choice = {
        ...first,
        finish_reason: finishReason,
        token_ids: ids,
        logprobs: { token_logprobs: logprobs },
      };
      // Counted here: vLLM says it only where it is asked for, in a chunk more.
      const usage = { prompt_tokens: asked.prompt.length, completion_tokens: ids.length };
      return { weight_version: weights, choices: [choice], usage };
    },
  };
}

/** The trainer and SGLang say which weights; vLLM only which model, so its model is served under their name. */
function weightsOf(body: Fields): unknown {
  return body.weight_version ?? fieldsOf(body.metadata)?.weight_version ?? body.model;
}

function requireWeights(endpoint: Endpoint, found: unknown, expected: string): void {
  if (found === expected) return;
  const message = `${placeOf(endpoint)}: expected weights ${expected}, found ${excerpt(found)}`;
  throw new Fault(endpoint.kind, message, { code: 'wrong_weights' });
}

function requirePrompt(endpoint: Endpoint, found: unknown, sent: readonly number[]): void {
  if (!Array.isArray(found)) return;
  if (found.length === sent.length && sent.every((id, index) => id === found[index])) return;
  const at = sent.findIndex((id, index) => id !== found[index]);
  const from = at < 0 ? sent.length : at;
  const shown = (ids: readonly unknown[]): string => `[${ids.slice(from, from + 8).join(', ')}]`;
  const expected = `the ${sent.length} ids that were sent, from ${from} on ${shown(sent)}`;
  throw unreadable(endpoint, 'choices[0].prompt_token_ids', expected, `${found.length}, ${shown(found)}`);
}

interface Tokens {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
}

/** One log-probability an id. `place` comes before the field's name in messages. */
function tokensOf(endpoint: Endpoint, choice: Fields, place: string): Tokens {
  const ids = numbers(endpoint, place + IDS, choice.token_ids, isTokenId, 'token ids');
  const given = fieldsOf(choice.logprobs)?.token_logprobs ?? (ids.length === 0 ? [] : undefined);
  const logprobs = numbers(endpoint, place + LOGPROBS, given, isLogprob, 'log-probabilities');
  if (logprobs.length !== ids.length)
    throw unreadable(endpoint, place + LOGPROBS, `${ids.length} numbers, one per id`, logprobs.length);
  return { ids, logprobs };
}

function numbers(
  endpoint: Endpoint,
  field: string,
  value: unknown,
  valid: (item: number) => boolean,
  what: string,
): readonly number[] {
  if (!Array.isArray(value)) throw unreadable(endpoint, field, 'a list of numbers', value);
  const bad = value.findIndex((item: unknown) => typeof item !== 'number' || !valid(item));
  if (bad >= 0) throw unreadable(endpoint, field, `numbers only: ${what}`, `${value[bad]} at ${bad}`);
  return value as number[];
}

function isTokenId(item: number): boolean {
  return Number.isInteger(item) && item >= 0 && item < 2 ** 31;
}

/** What vLLM writes for minus infinity, since JSON has no such number: no token is sampled with that. */
const MINUS_INFINITY = -9_999;
/** Above 0 by more than rounding: logits, e.g. with `--logprobs-mode raw_logits`. */
const ROUNDING = 1e-3;

function isLogprob(item: number): boolean {
  return Number.isFinite(item) && item > MINUS_INFINITY && item <= ROUNDING;
}
