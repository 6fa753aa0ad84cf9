/** One conversation on both sides: every prompt in full, the first one and each delta as the policy makes them. */
import type { Renderer } from '../../core/render/renderer.js';
import { type Conversation, turnsOf } from './conversations.js';
import { wireRequest } from './wire.js';

/** What the other side made of one request; a server tells no text. */
export type Answer = { readonly text?: string; readonly ids: readonly number[] } | { readonly error: string };

export interface Difference {
  /** `text`, `ids`, `first`, `delta` or `error`. */
  readonly what: string;
  /** Number of messages of the prompt. */
  readonly messages: number;
  readonly ours: string;
  readonly theirs: string;
}

export interface Tally {
  prompts: number;
  tokens: number;
  deltas: number;
  /** Prompts that both templates refuse. */
  refused: number;
}

/** `theirs`: answers to the prompts of `turnsOf`, in order. */
export function compare(
  renderer: Renderer,
  conversation: Conversation,
  theirs: readonly Answer[],
  tally: Tally,
): Difference[] {
  const differences: Difference[] = [];
  const turns = turnsOf(conversation);
  for (const [turn, end] of turns.entries()) {
    const answer = theirs[turn]!;
    const prompt = { ...conversation, messages: conversation.messages.slice(0, end) };
    const differ = (what: string, ours: unknown, other: unknown): void => {
      differences.push({ what, messages: end, ...apart(ours, other) });
    };
    let text: string;
    try {
      text = renderer.firstPromptText(prompt);
    } catch (error) {
      if ('error' in answer) tally.refused += 1;
      else differ('error', String(error), answer.ids);
      continue;
    }
    if ('error' in answer) {
      differ('error', text, answer.error);
      continue;
    }
    tally.prompts += 1;
    tally.tokens += answer.ids.length;
    if (answer.text !== undefined && text !== answer.text) differ('text', text, answer.text);
    const ids = renderer.tokens.encode(text);
    if (!same(ids, answer.ids)) differ('ids', ids, answer.ids);
    if (turn === 0) {
      const first = renderer.first(prompt);
      if (!same(first, answer.ids)) differ('first', first, answer.ids);
      continue;
    }
    tally.deltas += 1;
    const delta = renderer.delta(conversation.messages.slice(turns[turn - 1]! + 1, end), true);
    const tail = answer.ids.slice(-delta.length);
    if (!same(delta, tail)) differ('delta', delta, tail);
    const before = answer.ids.at(-delta.length - 1);
    if (before !== renderer.stopIds[0]) differ('delta', renderer.stopIds[0], before);
  }
  return differences;
}

export function requests(conversation: Conversation): string[] {
  return turnsOf(conversation).map((end) =>
    JSON.stringify(wireRequest({ ...conversation, messages: conversation.messages.slice(0, end) })),
  );
}

/** Both sides from a little before the first difference. */
function apart(ours: unknown, theirs: unknown): { readonly ours: string; readonly theirs: string } {
  const [a, b] = [shown(ours), shown(theirs)];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 60), at + 60);
  return { ours: around(a), theirs: around(b) };
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}
