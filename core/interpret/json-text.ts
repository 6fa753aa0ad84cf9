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
  const { depth, unsafe } = survey(text);
  if (depth > MAX_JSON_DEPTH) return undefined;
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return undefined; // no JSON: the caller says what that means
  }
  return allFinite(value) ? { value, unsafe } : undefined;
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

/** Looks at brackets and number literals outside strings; of what is no JSON, it says something harmless. */
function survey(text: string): { readonly depth: number; readonly unsafe: boolean } {
  let depth = 0;
  let open = 0;
  let unsafe = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === '"') at = stringEnd(text, at) - 1;
    else if (char === '[' || char === '{') depth = Math.max(depth, ++open);
    else if (char === ']' || char === '}') open -= 1;
    else if (char >= '0' && char <= '9') {
      const end = numberEnd(text, at);
      unsafe ||=
        end - at >= 16 && !Number.isSafeInteger(Number(text.slice(at, end))) && isDigits(text, at, end);
      at = end - 1;
    }
  }
  return { depth, unsafe };
}

/** Just behind the string that starts at `from`, or the end of the text. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

/** Just behind the number literal whose digits start at `from`. */
function numberEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && '0123456789.eE+-'.includes(text[at]!)) at += 1;
  return at;
}

function isDigits(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (text[at]! < '0' || text[at]! > '9') return false;
  return true;
}

function allFinite(root: Json): boolean {
  const pending: Json[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return false;
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) pending.push(item);
  }
  return true;
}
