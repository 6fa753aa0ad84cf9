/**
 * One parameter's text as a value of a type that its schema allows.
 *
 * The narrowest reading wins: null, integer, number, boolean, object, array, string. Text that no allowed type
 * can read stays a string when the schema allows one, else is read as JSON, else stays a string. Numbers follow
 * Python's rules, since that is what the serving engine uses: blanks around, `_` between digits, a sign.
 */
import type { Json } from '../message.js';
import type { JsonType } from './schema-types.js';

const INTEGER = /^[+-]?\d+(?:_\d+)*$/;
const NUMBER = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;

/** `unsafe`: the text holds an integer beyond 2^53; the value is then the text itself, never a rounded number. */
export interface TypedValue {
  readonly value: Json;
  readonly unsafe: boolean;
}

export function typedValue(text: string, types: ReadonlySet<JsonType>): TypedValue {
  if (types.has('null') && text.toLowerCase() === 'null') return exact(null);
  const trimmed = text.trim();
  if (types.has('integer') && INTEGER.test(trimmed)) return integer(text, trimmed);
  if (types.has('number') && NUMBER.test(trimmed)) {
    if (INTEGER.test(trimmed)) return integer(text, trimmed);
    const value = Number(trimmed.replaceAll('_', ''));
    if (Number.isFinite(value)) return exact(value);
  }
  if (types.has('boolean')) {
    const word = trimmed.toLowerCase();
    if (word === 'true' || word === '1') return exact(true);
    if (word === 'false' || word === '0') return exact(false);
  }
  const mayBeJson = types.has('object') || types.has('array') || !types.has('string');
  return (mayBeJson ? json(text) : undefined) ?? exact(text);
}

function exact(value: Json): TypedValue {
  return { value, unsafe: false };
}

function integer(text: string, trimmed: string): TypedValue {
  const value = Number(trimmed.replaceAll('_', ''));
  // Adding 0 turns Python's "-0" (an int 0) into plain zero.
  return Number.isSafeInteger(value) ? exact(value + 0) : { value: text, unsafe: true };
}

/** Undefined when the text is not JSON, or holds a number too large to be finite. */
function json(text: string): TypedValue | undefined {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  if (!allFinite(value)) return undefined;
  return holdsUnsafeInteger(text) ? { value: text, unsafe: true } : exact(value);
}

function allFinite(root: Json): boolean {
  const pending: Json[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return false;
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) pending.push(item);
  }
  return true;
}

/** Looks at the literals outside strings: after parsing, the digits that were lost are gone. */
function holdsUnsafeInteger(text: string): boolean {
  for (const [literal] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs)) {
    if (literal.length >= 16 && INTEGER.test(literal) && !Number.isSafeInteger(Number(literal))) return true;
  }
  return false;
}
