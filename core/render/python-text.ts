/**
 * Text as Python writes and trims it. Serving engines render templates in Python, so what a template shows of a number
 * or strips from a content is Python's idea of it, which differs from JavaScript's in small things.
 *
 * Numbers came through JSON that JavaScript wrote: `1.0` is `1` on every path, to a chat endpoint as well.
 */

/** What `str.strip` strips (`str.isspace`): U+FEFF is none of them, U+0085 and the separators U+001C to U+001F are. */
const BLANKS: ReadonlySet<string> = new Set(
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
);

export type Ends = 'both' | 'left' | 'right';

/** `text.strip(characters)`, `lstrip` or `rstrip`; without `characters`, blanks. Linear in the text. */
export function strip(text: string, ends: Ends = 'both', characters?: string): string {
  const stripped = characters === undefined ? BLANKS : new Set(characters);
  let from = 0;
  let to = text.length;
  if (ends !== 'right') while (from < to && stripped.has(text.charAt(from))) from++;
  if (ends !== 'left') while (to > from && stripped.has(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

/** An integer as Python reads it from the JSON that JavaScript writes: above 1e21 that JSON has an exponent. */
export function integerText(value: number): string {
  return Math.abs(value) < 1e21 ? JSON.stringify(value) : floatText(value);
}

/** `repr` of a float: the shortest digits that give it back, with an exponent below 1e-4 and from 1e16. */
export function floatText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16))
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

export interface JsonStyle {
  readonly ensureAscii: boolean;
  /** Blanks a level; null for one line. */
  readonly indent: number | null;
  /** Between items, after keys. */
  readonly separators: readonly [string, string];
  readonly sortKeys: boolean;
}

/** A string as `json.dumps` quotes it. */
export function jsonString(text: string, ensureAscii: boolean): string {
  const quoted = JSON.stringify(text);
  if (!ensureAscii) return quoted;
  return quoted.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
