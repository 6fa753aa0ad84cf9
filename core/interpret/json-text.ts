/**
 * JSON as text. `JSON.parse` alone would lose digits of large integers and accept nesting that nothing after it can
 * write again, so the text is looked at first. One walk, linear.
 */
import type { Json } from '../message.js';

/** Deeper text is not read: writing it again would overflow the stack, here and in the engine (at about 1,000). */
export const MAX_JSON_DEPTH = 512;

/** `unsafe`: the text holds an integer beyond 2^53, which `value` has rounded. */
export interface JsonText {
  readonly value: Json;
  readonly unsafe: boolean;
}

/** Undefined when the text is no JSON, holds a number too large to be finite, or is too deep. Never throws. */
export function readJson(text: string): JsonText | undefined {
  if (!mayBeJson(text)) return undefined;
  const { depth, unsafe, finite } = survey(text);
  if (depth > MAX_JSON_DEPTH || !finite) return undefined;
  try {
    return { value: JSON.parse(text) as Json, unsafe };
  } catch {
    return undefined; // no JSON: the caller says what that means
  }
}

const CLOSERS: Readonly<Record<string, string>> = { '{': '}', '[': ']', '"': '"' };

/** Looks at the first and the last character only: most of what is no JSON shows it there. */
function mayBeJson(text: string): boolean {
  let start = 0;
  let end = text.length - 1;
  while (start < end && ' \t\n\r'.includes(text[start]!)) start += 1;
  while (end > start && ' \t\n\r'.includes(text[end]!)) end -= 1;
  const first = text[start] ?? '';
  return Object.hasOwn(CLOSERS, first) ? text[end] === CLOSERS[first] : /[-\dtfn]/.test(first);
}

/** Names and texts of the values of an object's JSON text, in order. `text` must be the valid JSON of an object. */
export function memberTexts(text: string): readonly (readonly [string, string])[] {
  const members: (readonly [string, string])[] = [];
  let at = text.indexOf('{') + 1;
  for (;;) {
    const keyStart = text.indexOf('"', at);
    if (keyStart < 0) return members;
    const keyEnd = stringEnd(text, keyStart);
    const start = text.indexOf(':', keyEnd) + 1;
    const end = valueEnd(text, start);
    members.push([JSON.parse(text.slice(keyStart, keyEnd)) as string, text.slice(start, end).trim()]);
    if (text[end] !== ',') return members;
    at = end + 1;
  }
}

/** Where the value that starts at `from` ends: the comma or bracket that follows it. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = stringEnd(text, at) - 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (depth === 0 && (char === ',' || char === '}')) return at;
    else if (char === '}' || char === ']') depth -= 1;
  }
  return text.length;
}

interface Survey {
  readonly depth: number;
  /** An integer beyond 2^53 is among the numbers. */
  readonly unsafe: boolean;
  /** No number is too large for a double. */
  readonly finite: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looks at brackets and number literals outside strings; of what is no JSON, it says something harmless. */
function survey(text: string): Survey {
  let depth = 0;
  let open = 0;
  let unsafe = false;
  let finite = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === 0x5b || code === 0x7b) depth = Math.max(depth, ++open);
    else if (code === 0x5d || code === 0x7d) open -= 1;
    else if (isDigit(code)) {
      const number = numberAt(text, at);
      unsafe ||= number.unsafe;
      finite &&= number.finite;
      at = number.end - 1;
    }
  }
  return { depth, unsafe, finite };
}

/** Just behind the string that starts at `from`, or the end of the text. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

/** Integers of up to 15 digits are exact, and numbers without an exponent and of up to 308 digits are finite. */
const EXACT_DIGITS = 15;
const FINITE_DIGITS = 308;

/** The number literal whose digits start at `from`. */
function numberAt(text: string, from: number): { end: number; unsafe: boolean; finite: boolean } {
  let end = from;
  let digits = true;
  let exponent = false;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (isDigit(code)) continue;
    const char = text[end]!;
    if (!'.eE+-'.includes(char)) break;
    digits = false;
    exponent ||= char === 'e' || char === 'E';
  }
  const unsafe = digits && end - from > EXACT_DIGITS && !Number.isSafeInteger(Number(text.slice(from, end)));
  const finite =
    (!exponent && end - from <= FINITE_DIGITS) ||
    Math.abs(Number(text.slice(from, end))) !== Number.POSITIVE_INFINITY;
  return { end, unsafe, finite };
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
