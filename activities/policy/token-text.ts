/** Two token sequences that should be equal, shown where they part. */
import type { Tokens } from '../../core/render/tokens.js';

/** Tokens shown of each side. */
const SHOWN = 8;

/** Position of the first difference, or -1. */
export function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at++) if (a[at] !== b[at]) return at;
  return a.length === b.length ? -1 : shorter;
}

/** `[27, 91, 316] "<|im"`: ids from a position on, and their text. */
export function shownTokens(tokens: Tokens, ids: ArrayLike<number>, from: number): string {
  const shown = Array.from(ids).slice(from, from + SHOWN);
  return shown.length === 0
    ? 'nothing more'
    : `[${shown.join(', ')}] ${JSON.stringify(tokens.decode(shown))}`;
}
