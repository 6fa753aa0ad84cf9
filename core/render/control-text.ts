/**
 * Text that looks like a control token but was said by a tool, a user or a task's author.
 *
 * Tokenizers match their added tokens wherever they occur, so such text would end a turn or open a call. Before a
 * template renders it, every occurrence is broken by a mark after its first character, which no template and no JSON
 * dump changes; after rendering, unbroken control tokens are the template's own and the marks go. Rendered text is
 * split at the template's control tokens only, so tokens that merge across fields stay merged.
 */
import type { Json, JsonObject } from '../message.js';

/** Breaks what follows its first character. */
const BREAK = '\uE000';
/** Stands before a letter for a mark that the text itself held. */
const ESCAPE = '\uE001';
const HELD: Readonly<Record<string, string>> = { [BREAK]: `${ESCAPE}\uE002`, [ESCAPE]: `${ESCAPE}\uE003` };
const MARKS = /\uE000|\uE001[\uE002\uE003]/g;

/** An added token as `tokenizer.json` has it. */
export interface ControlToken {
  readonly content: string;
  /** The token swallows blanks before, after it. */
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
}

/** A piece of rendered text; `plain` pieces must not be read as control tokens. */
export interface TextPiece {
  readonly text: string;
  readonly plain: boolean;
}

export class ControlText {
  /** Whole control tokens, longest first, with the blanks that they swallow: what the tokenizer itself would match. */
  private readonly whole: RegExp;
  /** First characters of control tokens without the blanks around them, which the template may supply; and marks. */
  private readonly guarded: RegExp;

  constructor(tokens: readonly ControlToken[]) {
    const longestFirst = tokens.toSorted((a, b) => b.content.length - a.content.length);
    this.whole = alternatives(
      longestFirst.map(({ content, lstrip, rstrip }) => {
        return `${lstrip ? '\\s*' : ''}${literal(content)}${rstrip ? '\\s*' : ''}`;
      }),
    );
    const cores = new Set(longestFirst.map(({ content }) => content.trim()).filter((core) => core !== ''));
    // At every place where one begins: two may overlap.
    const beginning = alternatives([...cores].map(literal)).source;
    this.guarded = new RegExp(`(?=${beginning})[\\s\\S]|[${BREAK}${ESCAPE}]`, 'gu');
  }

  /** True when `text` holds something that looks like a control token, or a mark. */
  occursIn(text: string): boolean {
    this.guarded.lastIndex = 0;
    return this.guarded.test(text);
  }

  /** `text` with a mark in each occurrence. */
  guard(text: string): string {
    return text.replace(this.guarded, (found) => HELD[found] ?? found + BREAK);
  }

  /** The same for every string within a JSON value, names of properties too. */
  guardJson(value: Json): Json {
    if (typeof value === 'string') return this.guard(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json) => this.guardJson(item));
    const entries = Object.entries(value as JsonObject);
    return Object.fromEntries(entries.map(([key, item]) => [this.guard(key), this.guardJson(item)]));
  }

  /** `text` cut after the first character of each occurrence. */
  cut(text: string): string[] {
    return this.guard(text).split(BREAK).map(withoutMarks);
  }

  /** Rendered text as stretches: control tokens on their own, everything between two of them in one plain piece. */
  pieces(rendered: string): TextPiece[] {
    const pieces: TextPiece[] = [];
    const between = (from: number, to: number): void => {
      if (to > from) pieces.push({ text: withoutMarks(rendered.slice(from, to)), plain: true });
    };
    let at = 0;
    for (const control of rendered.matchAll(this.whole)) {
      between(at, control.index);
      pieces.push({ text: control[0], plain: false });
      at = control.index + control[0].length;
    }
    between(at, rendered.length);
    return pieces;
  }

  /** Where the last control token of `text` ends: before it, nothing depends on what follows. 0 when there is none. */
  lastBoundary(text: string): number {
    let end = 0;
    for (const control of text.matchAll(this.whole)) end = control.index + control[0].length;
    return end;
  }
}

/** True for rendered text that holds guarded text. */
export function isGuarded(rendered: string): boolean {
  return rendered.includes(BREAK) || rendered.includes(ESCAPE);
}

/** Guarded text as it was. */
function withoutMarks(text: string): string {
  return text.replace(MARKS, (mark) => {
    if (mark === BREAK) return '';
    return mark === HELD[BREAK] ? BREAK : ESCAPE;
  });
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function alternatives(patterns: readonly string[]): RegExp {
  return new RegExp(patterns.length === 0 ? '(?!)' : patterns.join('|'), 'gu');
}
