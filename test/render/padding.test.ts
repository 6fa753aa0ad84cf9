/** Rows of the weights beyond the tokenizer's tokens can be sampled and stand for no text; other ids are another model's. */
import { describe, expect, test } from 'vitest';
import { MODELS } from './files.js';

/** Ids of the tokenizer, and rows of the published weights. */
const ROWS: Readonly<Record<string, readonly [ids: number, rows: number]>> = {
  qwen3: [151_669, 151_936],
  'qwen3.5': [248_077, 248_320],
  embedded: [515, 515],
};

describe.each(MODELS)('%s', (name, renderer) => {
  const [ids, rows] = ROWS[name]!;

  test('padding is no text, between tokens or alone', () => {
    const { tokens } = renderer();
    const hello = tokens.encode(' hello');
    const padding = Array.from({ length: rows - ids }, (_, index) => ids + index);
    expect(padding.every((id) => tokens.canSample(id))).toBe(true);
    expect(tokens.decode(padding)).toBe('');
    expect(tokens.decode([...padding, ...hello, ...padding, ...hello])).toBe(
      tokens.decode([...hello, ...hello]),
    );
  });

  test('the last token is one; ids of a larger model are not', () => {
    const { tokens } = renderer();
    expect(tokens.decode([ids - 1])).not.toBe('');
    for (const id of [-1, ids + 2_048, 2 ** 31 - 1]) expect(tokens.canSample(id)).toBe(false);
  });
});
