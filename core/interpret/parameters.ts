/**
 * The body of one `<function=...>`: `<parameter=NAME>VALUE</parameter>`, blanks allowed inside the tags.
 * A value also ends where the next parameter begins. One newline after the opening and one before the end belong to
 * the markup, not to the value.
 */
import { BLANKS, stripped } from './python-text.js';

export interface WrittenParameters {
  /** Name and raw text in the order first written; a name written again replaces its text. */
  readonly values: ReadonlyMap<string, string>;
  /** Name of a last parameter whose end is missing: it is no argument. */
  readonly unclosed: string | undefined;
}

const BLANK = `[${BLANKS}]*`;
const OPEN = new RegExp(`<${BLANK}parameter${BLANK}=${BLANK}`, 'g');
const END = new RegExp(`<${BLANK}(?:/${BLANK}parameter${BLANK}>|parameter${BLANK}=)`, 'g');

/** Linear: the text is walked once, and the first missing end stops the walk. */
export function readParameters(body: string): WrittenParameters {
  const values = new Map<string, string>();
  let at = 0;
  for (;;) {
    const open = next(OPEN, body, at);
    if (!open) return { values, unclosed: undefined };
    const nameEnd = body.indexOf('>', open.end);
    if (nameEnd < 0) return { values, unclosed: stripped(body.slice(open.end)) };
    const name = body.slice(open.end, nameEnd);
    const end = next(END, body, nameEnd + 1);
    if (!end) return { values, unclosed: name };
    values.set(name, withoutMarkupNewlines(body.slice(nameEnd + 1, end.start)));
    at = body[end.end - 1] === '>' ? end.end : end.start;
  }
}

function next(tag: RegExp, text: string, from: number): { start: number; end: number } | undefined {
  tag.lastIndex = from;
  const match = tag.exec(text);
  return match ? { start: match.index, end: match.index + match[0].length } : undefined;
}

function withoutMarkupNewlines(value: string): string {
  const start = value.startsWith('\n') ? 1 : 0;
  const end = value.length > start && value.endsWith('\n') ? value.length - 1 : value.length;
  return value.slice(start, end);
}
