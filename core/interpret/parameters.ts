/**
 * The body of one `<function=...>`: `<parameter=NAME>VALUE</parameter>`, blanks allowed inside the tags.
 * One newline after the opening and one before the closing tag belong to the markup, not to the value.
 */

export interface WrittenParameters {
  /** Name and raw text in the order first written; a name written again replaces its text. */
  readonly values: ReadonlyMap<string, string>;
  /** Name of a last parameter whose end is missing: it is no argument. */
  readonly unclosed: string | undefined;
}

const OPEN = /<\s*parameter\s*=\s*/g;
const CLOSE = /<\s*\/\s*parameter\s*>/g;

/** Linear: the text is walked once, and the first missing end stops the walk. */
export function readParameters(body: string): WrittenParameters {
  const values = new Map<string, string>();
  let at = 0;
  for (;;) {
    const open = next(OPEN, body, at);
    if (!open) return { values, unclosed: undefined };
    const nameEnd = body.indexOf('>', open.end);
    if (nameEnd < 0) return { values, unclosed: body.slice(open.end).trim() };
    const name = body.slice(open.end, nameEnd);
    const close = next(CLOSE, body, nameEnd + 1);
    if (!close) return { values, unclosed: name };
    values.set(name, withoutMarkupNewlines(body.slice(nameEnd + 1, close.start)));
    at = close.end;
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
