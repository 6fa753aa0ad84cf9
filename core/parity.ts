/**
 * What a campaign proved of its endpoint before it sampled: that both sides read text as the same tokens. Noted in the
 * campaign's result under `parity`, each time that it is started; the newest counts.
 */

/** How an endpoint is asked for ids (`activities/policy/tokenize.ts`). */
export type TokenizeWay = 'tokenize' | 'content' | 'completion';

export interface ParityReport {
  readonly endpoint: string;
  readonly way: TokenizeWay;
  /** Whole prompts that both sides read as the same tokens. */
  readonly probes: number;
  readonly tokens: number;
  /** Control-like text that the endpoint reads as control tokens and we as plain text: expected, and good to know. */
  readonly controlLike: readonly { readonly text: string; readonly ours: number; readonly theirs: number }[];
}

/** As the campaign's result has it. `skipped`: its configuration says that nobody asks. */
export type ParityNote = { readonly at: string } & (
  | ({ readonly state: 'proven' } & ParityReport)
  | { readonly state: 'skipped' }
);

/** From a campaign's result; undefined for one that samples no tokens, has not begun, or is older than the note. */
export function parityNote(result: unknown): ParityNote | undefined {
  return ((result ?? {}) as { parity?: ParityNote }).parity;
}
