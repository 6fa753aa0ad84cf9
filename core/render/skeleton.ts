/**
 * A rendered conversation with holes where the contents go. Templates are slow and contents change every turn, the
 * text around them hardly ever does: a template runs once for each shape of turn.
 */
import { strip } from './python-text.js';
import type { TemplateMessage } from './template.js';

/** Pieces around n contents: n + 1 of them. `trim`: the template strips blanks around contents. */
export interface Skeleton {
  readonly pieces: readonly string[];
  readonly trim: boolean;
}

const SLOT = /\uE002(\d+)\uE003/g;
/** What is put around a content to see what the template does with it: strips, escapes, cuts. */
const PROBES: readonly (readonly [string, string])[] = [
  [' \n', '\n '],
  ['\n "\\&é</', '/>é&\\" \n'],
];

/**
 * Skeleton of `render(messages)`, with the contents of `messages` as holes; undefined when the template does more
 * with contents than show or strip them, so that it has to run every time.
 */
export function skeletonOf(
  messages: readonly TemplateMessage[],
  render: (messages: readonly TemplateMessage[]) => string,
): Skeleton | undefined {
  const rendered = (around: readonly [string, string]) => {
    const contents = messages.map((_, i) => `${around[0]}\uE002${i}\uE003${around[1]}`);
    return { contents, text: render(messages.map((message, i) => ({ ...message, content: contents[i]! }))) };
  };
  const { text } = rendered(['', '']);
  const slots = [...text.matchAll(SLOT)];
  if (slots.length !== messages.length || slots.some((slot, i) => Number(slot[1]) !== i)) return undefined;
  const pieces = text.split(/\uE002\d+\uE003/);
  const probed = PROBES.map(rendered);
  return [false, true]
    .map((trim) => ({ pieces, trim }))
    .find((skeleton) => probed.every(({ contents, text: found }) => fill(skeleton, contents) === found));
}

/**
 * The text with `contents` in the holes. Templates treat absent contents differently from others, so a blank one needs
 * the template itself: see `fits`.
 */
export function fill({ pieces, trim }: Skeleton, contents: readonly string[]): string {
  let text = pieces[0] ?? '';
  contents.forEach((content, i) => {
    text += (trim ? strip(content) : content) + (pieces[i + 1] ?? '');
  });
  return text;
}

/** True for contents that a skeleton stands for: templates may ask whether there is any content at all. */
export function fits(contents: readonly string[]): boolean {
  return contents.every((content) => strip(content) !== '');
}
