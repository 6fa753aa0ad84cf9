/**
 * A streamed chat completion, put together as the reply that an unstreamed request brings.
 *
 * Text comes in pieces to be joined, calls in pieces that say by their index which call they belong to; what a server
 * adds of its own (`reasoning_details`, signatures of calls) is kept, since it must hear it again.
 */
import type { Endpoint } from './endpoint.js';
import { type Fold, StreamLacks } from './exchange.js';
import { type Fields, fieldsOf, onlyChoice, unreadable } from './unreadable.js';

type Building = Record<string, unknown>;

/** Fields of a message that are text in pieces. */
const PIECES: ReadonlySet<string> = new Set(['content', 'refusal', 'reasoning', 'reasoning_content']);

export function chatFold(endpoint: Endpoint): Fold {
  const message: Building = { role: 'assistant', content: null };
  const calls = new Map<number, Building>();
  let finishReason: unknown;
  let usage: unknown;
  let chunks = 0;
  let count = 0;
  return {
    add(chunk) {
      chunks += 1;
      usage = chunk.usage ?? usage;
      const choice = onlyChoice(endpoint, chunk.choices);
      if (!choice) return;
      finishReason = choice.finish_reason ?? finishReason;
      const delta = fieldsOf(choice.delta ?? {});
      const place = `chunk ${chunks}: choices[0].delta`;
      if (!delta) throw unreadable(endpoint, place, 'an object', choice.delta);
      for (const [name, value] of Object.entries(delta)) {
        if (name === 'tool_calls') addCalls(endpoint, calls, value, place);
        else addField(endpoint, message, name, value, place);
      }
      if (Object.values(delta).some((value) => value !== null && value !== '')) count += 1;
    },
    get count() {
      return count;
    },
    reply() {
      if (usage === undefined) throw new StreamLacks('usage');
      const inOrder = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
      const whole = inOrder.length > 0 ? { ...message, tool_calls: inOrder } : message;
      return { choices: [{ message: whole, finish_reason: finishReason }], usage };
    },
  };
}

function addField(endpoint: Endpoint, into: Building, name: string, value: unknown, place: string): void {
  if (value === undefined || value === null || name === 'role') return;
  const before = into[name];
  if (PIECES.has(name)) {
    if (typeof value !== 'string') throw unreadable(endpoint, `${place}.${name}`, 'text', value);
    into[name] = typeof before === 'string' ? before + value : value;
  } else into[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

function addCalls(endpoint: Endpoint, calls: Map<number, Building>, value: unknown, place: string): void {
  if (value === undefined || value === null) return;
  if (!Array.isArray(value)) throw unreadable(endpoint, `${place}.tool_calls`, 'a list', value);
  for (const [position, item] of value.entries()) {
    const field = `${place}.tool_calls[${position}]`;
    const piece = fieldsOf(item);
    if (!piece) throw unreadable(endpoint, field, 'a piece of a call', item);
    const index = piece.index ?? position;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0)
      throw unreadable(endpoint, `${field}.index`, 'a position', index);
    calls.set(index, joined(endpoint, calls.get(index), piece, field));
  }
}

/** Id and name come once, or are said again; the arguments come in pieces. */
function joined(endpoint: Endpoint, call: Building | undefined, piece: Fields, field: string): Building {
  const { index: _position, function: called, ...rest } = piece;
  const whole: Building = call ?? { type: 'function', function: { arguments: '' } };
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined && value !== null && value !== '') whole[name] = value;
  }
  const pieces = fieldsOf(called ?? {});
  if (!pieces) throw unreadable(endpoint, `${field}.function`, 'an object', called);
  const { name, arguments: args, ...others } = pieces;
  for (const [key, value] of Object.entries({ name, arguments: args })) {
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw unreadable(endpoint, `${field}.function.${key}`, 'text', value);
  }
  const before = whole.function as { readonly name?: string; readonly arguments: string };
  whole.function = {
    ...before,
    ...others,
    name: typeof name === 'string' && name !== '' ? name : (before.name ?? name),
    arguments: before.arguments + (typeof args === 'string' ? args : ''),
  };
  return whole;
}
