/**
 * A rendered conversation with holes where the contents go. Templates are slow and contents change every turn, the
 * text around them hardly ever does: a template runs once for each shape of turn.
 */
import type { TemplateMessage } from './template.js';

/** Pieces around n contents: n + 1 of them. `trim`: the template strips blanks around contents. */
export interface Skeleton {
  readonly pieces: readonly string[];
  readonly trim: boolean;
}

const SLOT = /( \n)?\uE002(\d+)\uE003(\n )?/g;

/**
 * Skeleton of `render(messages)`, with the contents of `messages` as holes; undefined when the template does more
 * with contents than show or strip them, so that it has to run every time.
 */
export function skeletonOf(
  messages: readonly TemplateMessage[],
  render: (messages: readonly TemplateMessage[]) => string,
): Skeleton | undefined {
  const text = render(messages.map((message, i) => ({ ...message, content: ` \n\uE002${i}\uE003\n ` })));
  const slots = [...text.matchAll(SLOT)];
  const inOrder = slots.length === messages.length && slots.every((slot, i) => Number(slot[2]) === i);
  const verbatim = slots.every((slot) => slot[1] && slot[3]);
  const trim = slots.every((slot) => !slot[1] && !slot[3]);
  if (!inOrder || !(verbatim || trim)) return undefined;
  const pieces: string[] = [];
  let at = 0;
  for (const slot of slots) {
    pieces.push(text.slice(at, slot.index));
    at = slot.index + slot[0].length;
  }
  return { pieces: [...pieces, text.slice(at)], trim: trim && !verbatim };
}

/** The text with `contents` in the holes. */
export function fill({ pieces, trim }: Skeleton, contents: readonly string[]): string {
  let text = pieces[0] ?? '';
  contents.forEach((content, i) => {
    text += (trim ? content.trim() : content) + (pieces[i + 1] ?? '');
  });
  return text;
}
