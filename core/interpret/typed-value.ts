/**
 * One parameter's text as a value of a type that its schema allows.
 *
 * The narrowest reading wins: null, integer, number, boolean, object, array, string. Text that no allowed type
 * can read stays a string when the schema allows one, else is read as JSON, else stays a string. Numbers follow
 * Python's rules, since that is what the serving engine uses: blanks around, `_` between digits, a sign, digits of
 * any script.
 */
import { losesForm } from '../exact-json.js';
import type { Json } from '../message.js';
import { readJson } from './json-text.js';
import { asciiDigits, stripped, withoutBlanks } from './python-text.js';
import type { JsonType } from './schema-types.js';

const INTEGER = /^[+-]?\d+(?:_\d+)*$/;
const NUMBER = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;

/** A longer number is left to the JSON reader: these patterns need stack for each group, and Python stops at 4,300. */
const MAX_NUMBER = 10_000;

/** `unsafe`: the text holds an integer beyond 2^53; the value is then the text itself, never a rounded number. */
export interface TypedValue {
  readonly value: Json;
  readonly unsafe: boolean;
  /** The JSON text that it was read from, where a number in it is written otherwise than JavaScript would. */
  readonly written?: string;
}

/** Never throws. */
export function typedValue(text: string, types: ReadonlySet<JsonType>): TypedValue {
  if (types.has('null') && isWord(text, 'null')) return exact(null);
  const number = types.has('integer') || types.has('number') ? numberIn(text) : undefined;
  if (number !== undefined && INTEGER.test(number)) return integer(text, number);
  if (number !== undefined && types.has('number') && NUMBER.test(number)) {
    const value = Number(number.replaceAll('_', ''));
    if (Number.isFinite(value)) return exact(value);
  }
  if (types.has('boolean')) {
    const word = stripped(text);
    if (word === '1' || isWord(word, 'true')) return exact(true);
    if (word === '0' || isWord(word, 'false')) return exact(false);
  }
  const mayBeJson = types.has('object') || types.has('array') || !types.has('string');
  return (mayBeJson ? json(text) : undefined) ?? exact(text);
}

/** `word` in any case. A long text is not copied for it. */
function isWord(text: string, word: string): boolean {
  return text.length === word.length && text.toLowerCase() === word;
}

function numberIn(text: string): string | undefined {
  const written = withoutBlanks(text);
  return written.length <= MAX_NUMBER ? asciiDigits(written) : undefined;
}

function exact(value: Json): TypedValue {
  return { value, unsafe: false };
}

function integer(text: string, number: string): TypedValue {
  const value = Number(number.replaceAll('_', ''));
  // Adding 0 turns Python's "-0" (an int 0) into plain zero.
  return Number.isSafeInteger(value) ? exact(value + 0) : { value: text, unsafe: true };
}

function json(text: string): TypedValue | undefined {
  const read = readJson(text);
  if (read?.unsafe) return { value: text, unsafe: true };
  return read && losesForm(text) ? { ...read, written: text.trim() } : read;
}
