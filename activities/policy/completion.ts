/**
 * One reply of a token endpoint (`/v1/completions` as vLLM and the trainer answer it), read strictly: ids and
 * log-probabilities are what training stands on, so a field that is missing or does not fit is a fault that names
 * endpoint and field.
 */
import { Fault } from '../../core/faults.js';
import type { SampledTokens } from '../../core/policy.js';
import { excerpt } from './chat-model.js';
import { type Endpoint, placeOf } from './endpoint.js';

export interface Completion extends SampledTokens {
  readonly finishReason: 'stop' | 'length';
  readonly weightVersion: string;
}

/** `weightVersion`: the weights that were asked for; a reply from others throws `Fault(code: 'wrong_weights')`. */
export function readCompletion(endpoint: Endpoint, reply: unknown, weightVersion: string): Completion {
  const body = asRecord(reply);
  if (!body) throw unreadable(endpoint, 'the reply', 'a JSON object', reply);
  const choices = body.choices;
  const choice = asRecord(Array.isArray(choices) ? choices[0] : undefined);
  if (!choice) throw unreadable(endpoint, 'choices[0]', 'an object', choices);
  const found = body.weight_version ?? body.model;
  if (found !== weightVersion) {
    const message = `${placeOf(endpoint)}: expected weights ${weightVersion}, found ${excerpt(found)}`;
    throw new Fault(endpoint.kind, message, { code: 'wrong_weights' });
  }
  const finishReason = choice.finish_reason;
  if (finishReason !== 'stop' && finishReason !== 'length') {
    throw unreadable(endpoint, 'choices[0].finish_reason', '"stop" or "length"', finishReason);
  }
  const ids = Int32Array.from(numbers(endpoint, 'choices[0].token_ids', choice.token_ids, isTokenId));
  const field = 'choices[0].logprobs.token_logprobs';
  const given = numbers(endpoint, field, asRecord(choice.logprobs)?.token_logprobs, Number.isFinite);
  if (given.length !== ids.length)
    throw unreadable(endpoint, field, `${ids.length} numbers, one per id`, given.length);
  return { ids, logprobs: Float32Array.from(given), finishReason, weightVersion };
}

function numbers(
  endpoint: Endpoint,
  field: string,
  value: unknown,
  valid: (item: number) => boolean,
): readonly number[] {
  if (!Array.isArray(value)) throw unreadable(endpoint, field, 'a list of numbers', value);
  const bad = value.find((item: unknown) => typeof item !== 'number' || !valid(item));
  if (bad !== undefined || value.includes(undefined)) throw unreadable(endpoint, field, 'numbers only', bad);
  return value as number[];
}

function isTokenId(item: number): boolean {
  return Number.isInteger(item) && item >= 0 && item < 2 ** 31;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function unreadable(endpoint: Endpoint, field: string, expected: string, found: unknown): Fault {
  const message = `${placeOf(endpoint)}: ${field}: expected ${expected}, found ${excerpt(found)}`;
  return new Fault(endpoint.kind, message, { code: 'unreadable' });
}
