/**
 * HTML by tagged template: everything interpolated is escaped unless it is `Html` already.
 *
 * Tool output is hostile by assumption. Beyond `& < > " '`, control characters become their visible pictures
 * (NUL is `␀`), bidirectional controls their code point by name, and lone surrogates U+FFFD: what a reader sees
 * is what the bytes say, and no text can rearrange the page around it.
 */

/** Markup that is safe to insert as it stands. Made only by `html` and `raw`. */
export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

/** What a template accepts; `null`, `undefined` and `false` are nothing, arrays are joined. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Line feed and tab stay; every other C0 control, DEL and C1 control is shown. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function picture(control: string): string {
  const code = control.charCodeAt(0);
  if (code === 0x7f) return '\u2421';
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : named(control);
}

function named(character: string): string {
  return `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`;
}

/** Text with nothing invisible in it: for HTML after escaping, and for Markdown. */
export function visible(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(CONTROLS, picture)
    .replace(BIDI_CONTROLS, named)
    .replace(LONE_SURROGATES, '\ufffd');
}

/** Text for element content and quoted attributes. */
export function escapeHtml(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return part.map(render).join('');
}

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? '';
  parts.forEach((part, index) => {
    text += render(part) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

/** Markup from our own constants (style sheets). Never for text that came from outside. */
export function raw(text: string): Html {
  return new Html(text);
}

/** Text clipped to `limit` characters, with a note of how much is left out. Never splits a surrogate pair. */
export function clip(text: string, limit: number): { readonly text: string; readonly cut: number } {
  if (text.length <= limit) return { text, cut: 0 };
  const last = text.charCodeAt(limit - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit;
  return { text: text.slice(0, end), cut: text.length - end };
}
