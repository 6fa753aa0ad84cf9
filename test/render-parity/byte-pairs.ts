/**
 * A `tiktoken` vocabulary (token and rank a line) as the model of a `tokenizer.json`.
 *
 * Ranks are the order in which merges were learnt, so each token's last merge is found by splitting it with the merges
 * before it. From the ranks of Qwen 3 this gives the 151,387 merges of its published file, in order.
 */
import type { JsonObject } from '../../core/message.js';

export function bytePairModel(tiktoken: string): JsonObject {
  /** Tokens as strings of bytes. */
  const ranks = new Map<string, number>();
  for (const line of tiktoken.split('\n')) {
    const [token, rank] = line.split(' ');
    if (token && rank) ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(rank));
  }
  const merges: (readonly [string, string])[] = [];
  for (const [token, rank] of [...ranks].toSorted(([, a], [, b]) => a - b)) {
    let parts = split(token, rank, ranks);
    // Learnt from other text: its parts have higher ranks than itself (232 tokens of Qwen 3.5).
    if (parts.length > 2) parts = split(token, Number.POSITIVE_INFINITY, ranks);
    const [left, right, more] = parts;
    // A token that no merge leads to is never written by byte pairs; a single byte needs none.
    if (left !== undefined && right !== undefined && more === undefined)
      merges.push([shown(left), shown(right)]);
  }
  const vocab = Object.fromEntries([...ranks].map(([token, rank]) => [shown(token), rank]));
  return {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    fuse_unk: false,
    byte_fallback: false,
    vocab,
    merges,
  };
}

/** Parts of a token when all merges below `rank` are done. */
function split(token: string, rank: number, ranks: ReadonlyMap<string, number>): string[] {
  const parts = [...token];
  while (parts.length > 2) {
    let lowest = rank;
    let at = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const found = ranks.get(parts[i]! + parts[i + 1]!);
      if (found !== undefined && found < lowest) {
        lowest = found;
        at = i;
      }
    }
    if (at < 0) break;
    parts.splice(at, 2, parts[at]! + parts[at + 1]!);
  }
  return parts;
}

/** Bytes as the characters that stand for them in `tokenizer.json`: printable ones as they are, others from U+0100 on. */
const SHOWN: readonly string[] = (() => {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCharCode(printable ? byte : next++);
  });
})();

function shown(bytes: string): string {
  return [...bytes].map((byte) => SHOWN[byte.charCodeAt(0)]!).join('');
}
