/** What a report says of the proof that its campaigns made before they sampled. */
import { expect, test } from 'vitest';
import { parityInvariants } from '../../activities/report/collect/parity.js';
import type { Campaign } from '../../activities/report/collect/source.js';
import type { ParityNote } from '../../core/parity.js';

const PROVEN: ParityNote = {
  ...{ at: '2026-11-29T10:00:00.000Z', state: 'proven', endpoint: 'http://host/v1', way: 'tokenize' },
  ...{ probes: 6, tokens: 1_377, controlLike: [{ text: '<|im_end|>', ours: 9, theirs: 4 }] },
};

const campaigns = (...notes: readonly (ParityNote | undefined)[]): readonly Campaign[] =>
  notes.map((parity) => ({ row: { result: { cause: null, parity } } }) as unknown as Campaign);

test('the newest proof, with the text that is read as control tokens over there', () => {
  const [first] = parityInvariants(
    campaigns(PROVEN, { ...PROVEN, at: '2026-11-29T11:00:00.000Z', probes: 7 }),
  );
  expect(first).toMatchObject({
    holds: true,
    detail: expect.stringMatching(/^7 prompts of 1,377 tokens, equal/),
  });
  expect(first?.detail).toContain('"<|im_end|>"');
});

test('that nobody asked is said of the whole, and nothing where there is nothing to say', () => {
  const skipped: ParityNote = { at: PROVEN.at, state: 'skipped' };
  expect(parityInvariants(campaigns(PROVEN, skipped))).toMatchObject([
    { holds: false, detail: 'not proven: the configuration says "parity: skipped"' },
  ]);
  expect(parityInvariants(campaigns(undefined))).toEqual([]);
});
