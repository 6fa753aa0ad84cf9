/**
 * Text as Python sees it. The serving engine is written in Python, so its blanks and digits decide what a model's
 * output means: JavaScript's own `trim` and `\s` take U+FEFF for a blank and U+0085 for none.
 */

/** Inside a character class: what matches `\s` in the engine's patterns, and what may stand around a number. */
export const BLANKS = '\\t-\\r\\x20\\x85\\xA0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000';

const BLANK = new RegExp(`[${BLANKS}]`);
/** `str.strip` takes the four information separators besides. */
const STRIPPED = new RegExp(`[${BLANKS}\\x1C-\\x1F]`);
const DIGIT = /\p{Nd}/u;

/** As `str.strip()`. */
export function stripped(text: string): string {
  return between(text, STRIPPED);
}

/** `text` without the blanks that may stand around a number. */
export function withoutBlanks(text: string): string {
  return between(text, BLANK);
}

/** Decimal digits of any script as `0` to `9`: Python reads them all. */
export function asciiDigits(text: string): string {
  return /\P{ASCII}/u.test(text) ? text.replace(/\p{Nd}/gu, asciiDigit) : text;
}

/** Unicode keeps digits in runs of ten that start with the zero. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let zero = code;
  while (DIGIT.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

function between(text: string, blank: RegExp): string {
  let start = 0;
  let end = text.length;
  while (start < end && blank.test(text[start]!)) start += 1;
  while (end > start && blank.test(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}
