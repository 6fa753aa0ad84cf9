/** One reply of a chat endpoint, whole or folded from the chunks of a stream, read strictly. */
import type OpenAI from 'openai';
import { Fault } from '../../core/faults.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { type Fields, fieldsOf, isCount, onlyChoice, unreadable } from './unreadable.js';

export type WireCall = OpenAI.ChatCompletionMessageToolCall;

export interface ChatReply {
  /** As the endpoint must hear its own words again, with fields that only it understands. */
  readonly message: OpenAI.ChatCompletionAssistantMessageParam;
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly WireCall[];
  readonly finishReason: 'stop' | 'length';
  readonly promptTokens: number;
  readonly sampledTokens: number;
}

/** `error`, `abort` and the like are the server's end, not the model's: what was said until then is no answer. */
export const ENDED_BY_MODEL: ReadonlySet<unknown> = new Set([
  'stop',
  'length',
  'tool_calls',
  'function_call',
]);

const MESSAGE = 'choices[0].message';

/**
 * Throws `Fault`, naming endpoint and field. `firstCall`: calls of the conversation so far; a server that does not name
 * its calls gets them back under our names.
 */
export function readChatReply(endpoint: Endpoint, reply: unknown, firstCall: number): ChatReply {
  const body = fieldsOf(reply);
  const choice = onlyChoice(endpoint, body?.choices);
  const message = fieldsOf(choice?.message);
  if (!body || !choice || !message) throw unreadable(endpoint, MESSAGE, 'a chat completion', reply);
  const finishReason = requireEnd(endpoint, choice.finish_reason);
  const content = text(endpoint, `${MESSAGE}.content`, message.content);
  const refusal = text(endpoint, `${MESSAGE}.refusal`, message.refusal);
  const calls = callsOf(endpoint, message.tool_calls, firstCall);
  const usage = fieldsOf(body.usage);
  const { prompt_tokens: promptTokens, completion_tokens: sampledTokens } = usage ?? {};
  if (!isCount(promptTokens) || !isCount(sampledTokens))
    throw unreadable(endpoint, 'usage', 'prompt_tokens and completion_tokens', body.usage);
  // Streams open with an empty text where whole replies have none: beside calls it says nothing.
  const words = content === '' && calls.length > 0 ? null : content;
  const wire = { ...message, role: 'assistant', content: words };
  return {
    message: (calls.length > 0
      ? { ...wire, tool_calls: calls }
      : wire) as OpenAI.ChatCompletionAssistantMessageParam,
    reasoning: reasoningOf(endpoint, message),
    // A refusal is what the model said, in another field.
    content: content === '' ? refusal : content,
    calls,
    finishReason,
    promptTokens,
    sampledTokens,
  };
}

function requireEnd(endpoint: Endpoint, reason: unknown): 'stop' | 'length' {
  if (reason === 'content_filter') {
    const message = `${placeOf(endpoint)} withheld its answer (content_filter)`;
    throw new Fault(endpoint.kind, message, { code: 'content_filter', retry: false });
  }
  if (!ENDED_BY_MODEL.has(reason))
    throw unreadable(endpoint, 'choices[0].finish_reason', 'an end by the model', reason);
  return reason === 'length' ? 'length' : 'stop';
}

/** Absent and null are no text. */
function text(endpoint: Endpoint, field: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw unreadable(endpoint, field, 'text', value);
  return value;
}

/** vLLM and OpenRouter say `reasoning`, llama.cpp, SGLang, DeepSeek and older vLLM `reasoning_content`. */
function reasoningOf(endpoint: Endpoint, message: Fields): string {
  const { reasoning_content: long, reasoning: short } = message;
  if (typeof long === 'string') return long;
  return text(endpoint, `${MESSAGE}.reasoning`, short);
}

function callsOf(endpoint: Endpoint, calls: unknown, first: number): readonly WireCall[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw unreadable(endpoint, `${MESSAGE}.tool_calls`, 'a list', calls);
  return calls.map((value: unknown, index): WireCall => {
    const field = `${MESSAGE}.tool_calls[${index}]`;
    const call = fieldsOf(value);
    if (!call) throw unreadable(endpoint, field, 'a call', value);
    const { index: _position, id: named, type: kind, function: called, ...others } = call;
    const id = text(endpoint, `${field}.id`, named) || `c${first + index}`;
    const type = text(endpoint, `${field}.type`, kind) || 'function';
    if (type !== 'function') return { ...call, id, type } as WireCall;
    const { name, arguments: args, ...rest } = fieldsOf(called) ?? {};
    if (typeof name !== 'string') throw unreadable(endpoint, `${field}.function.name`, 'text', called);
    const given = text(endpoint, `${field}.function.arguments`, args);
    // In one order, so that the text of a turn is the same however it came.
    return { id, type, function: { name, arguments: given, ...rest }, ...others };
  });
}
