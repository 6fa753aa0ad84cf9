/**
 * Text that looks like a control token but was said by a tool, a user or a task's author.
 *
 * Tokenizers match their added tokens wherever they occur, so such text would end a turn or open a call. Before a
 * template renders it, every occurrence is replaced by a mark; after rendering, marks become plain text again.
 * Only marked places are split off, so tokens that merge across fields stay merged.
 */
import type { Json, JsonObject } from '../message.js';

const OPEN = '\uE000';
const CLOSE = '\uE001';
const MARK = /\uE000(\d+)\uE001/g;

/** A piece of rendered text; `plain` pieces must not be read as control tokens. */
export interface TextPiece {
  readonly text: string;
  readonly plain: boolean;
}

export class ControlText {
  /** Whole control tokens, longest first: what the tokenizer itself would match. */
  private readonly whole: RegExp;
  /** Control tokens without the blanks around them, which the template may supply. */
  private readonly guarded: RegExp;

  constructor(tokens: readonly string[]) {
    const longestFirst = tokens.toSorted((a, b) => b.length - a.length);
    this.whole = alternatives(longestFirst);
    const cores = new Set(longestFirst.map((token) => token.trim()).filter((core) => core !== ''));
    this.guarded = alternatives([...cores, OPEN, CLOSE]);
  }

  /** True when `text` holds something that looks like a control token. */
  occursIn(text: string): boolean {
    this.guarded.lastIndex = 0;
    return this.guarded.test(text);
  }

  /** `text` with a mark for each occurrence; what was marked goes to the end of `marked`. */
  guard(text: string, marked: string[]): string {
    return text.replace(this.guarded, (found) => `${OPEN}${marked.push(found) - 1}${CLOSE}`);
  }

  /** The same for every string within a JSON value, names of properties too. */
  guardJson(value: Json, marked: string[]): Json {
    if (typeof value === 'string') return this.guard(value, marked);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json) => this.guardJson(item, marked));
    const entries = Object.entries(value as JsonObject);
    return Object.fromEntries(entries.map(([k, v]) => [this.guard(k, marked), this.guardJson(v, marked)]));
  }

  /** Rendered text as stretches: control tokens on their own, everything between two of them in one plain piece. */
  pieces(rendered: string, marked: readonly string[]): TextPiece[] {
    const pieces: TextPiece[] = [];
    let stretch = '';
    const flush = (): void => {
      if (stretch !== '') pieces.push({ text: stretch, plain: true });
      stretch = '';
    };
    let at = 0;
    for (const mark of [...rendered.matchAll(MARK), undefined]) {
      const trusted = rendered.slice(at, mark?.index);
      let from = 0;
      for (const control of trusted.matchAll(this.whole)) {
        stretch += trusted.slice(from, control.index);
        flush();
        pieces.push({ text: control[0], plain: false });
        from = control.index + control[0].length;
      }
      stretch += trusted.slice(from);
      if (!mark) break;
      stretch += marked[Number(mark[1])] ?? mark[0];
      at = mark.index + mark[0].length;
    }
    flush();
    return pieces;
  }

  /** Where the last control token of `text` ends: before it, nothing depends on what follows. 0 when there is none. */
  lastBoundary(text: string): number {
    let end = 0;
    for (const control of text.matchAll(this.whole)) end = control.index + control[0].length;
    return end;
  }
}

function alternatives(literals: readonly string[]): RegExp {
  const escaped = literals.map((literal) => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(escaped.length === 0 ? '(?!)' : escaped.join('|'), 'g');
}
