import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type BatchEpisode,
  batchFormatFor,
  encodeBatch,
  encodeBatchIndex,
  recordsOf,
} from '../../core/batch.js';
import { decodeTensors, encodeTensors, tensor } from '../../core/safetensors.js';
import { decodeTokens, encodeTokens } from '../../core/tokens.js';

function episode(key: string, length: number, advantage = 0.5): BatchEpisode {
  return {
    key,
    advantage,
    ids: Int32Array.from({ length }, (_, i) => i + length),
    sampled: Uint8Array.from({ length }, (_, i) => i % 2),
    logprobs: Float32Array.from({ length }, (_, i) => (i % 2 === 1 ? -i / 3 : 0)),
  };
}

test('a token record survives, at any alignment', () => {
  fc.assert(
    fc.property(fc.nat(40), fc.nat(9), (length, shift) => {
      const { ids, sampled, logprobs } = episode('k', length);
      const bytes = encodeTokens({ ids, sampled, logprobs });
      const moved = new Uint8Array(bytes.length + shift);
      moved.set(bytes, shift);
      expect(decodeTokens(moved.subarray(shift))).toEqual({ ids, sampled, logprobs });
    }),
  );
});

test('a token record from before says the same', () => {
  const { ids, sampled, logprobs } = episode('k', 21);
  const tensors = new Map<string, Int32Array | Uint8Array | Float32Array>([
    ['ids', ids],
    ['logprobs', logprobs],
    ['sampled', sampled],
  ]);
  const bytes = encodeTensors({ tensors, metadata: { format: '1' } });
  expect(decodeTokens(bytes)).toEqual({ ids, sampled, logprobs });
  tensors.set('sampled', sampled.subarray(1));
  expect(() => decodeTokens(encodeTensors({ tensors, metadata: { format: '1' } }))).toThrow('lengths differ');
});

test('a token record whose bits and log-probabilities do not fit is corrupt', () => {
  const { ids, sampled, logprobs } = episode('k', 21);
  const file = decodeTensors(encodeTokens({ ids, sampled, logprobs }));
  for (const [name, words] of [
    ['bits', /2 bytes of bits/],
    ['logprobs', /10 bits for 9 log-probabilities/],
  ] as const) {
    const tensors = new Map(file.tensors);
    tensors.set(name, file.tensors.get(name)!.subarray(1));
    expect(() => decodeTokens(encodeTensors({ tensors, metadata: { format: '2' } }))).toThrow(words);
  }
});

test('a batch is sorted by key, and its bytes do not depend on the order given', () => {
  const episodes = [episode('b', 3, -1), episode('a', 2, 1)];
  const batch = { run: 'train/r', step: 7, weightVersion: 'sha256:w' };
  const bytes = encodeBatch({ ...batch, episodes });
  expect(encodeBatch({ ...batch, episodes: episodes.toReversed() })).toEqual(bytes);
  const file = decodeTensors(bytes);
  expect(file.metadata).toEqual({
    format: '2',
    run: 'train/r',
    step: '7',
    keys: '["a","b"]',
    weightVersion: 'sha256:w',
  });
  expect(tensor(file, 'lengths', 'I32')).toEqual(Int32Array.of(2, 3));
  expect(tensor(file, 'advantages', 'F32')).toEqual(Float32Array.of(1, -1));
  expect(tensor(file, 'ids', 'I32')).toEqual(Int32Array.of(2, 3, 3, 4, 5));
  // Of the tokens 1 of each episode, which are 1 and 3 of the batch.
  expect(tensor(file, 'bits', 'U8')).toEqual(Uint8Array.of(0b01010));
  expect(tensor(file, 'logprobs', 'F32')).toEqual(Float32Array.of(-1 / 3, -1 / 3));
});

const indexed = (key: string, letter: string, length = 3) => ({
  ...{ key, advantage: 0.5, record: `sha256:${letter.repeat(64)}`, length, sampled: 1 },
});

test('an index is sorted by key, names every record, and holds no token', () => {
  const batch = { run: 'train/r', step: 7, weightVersion: 'sha256:w' };
  const episodes = [indexed('b', 'e', 1000), indexed('a', 'f')];
  const bytes = encodeBatchIndex({ ...batch, episodes });
  expect(encodeBatchIndex({ ...batch, episodes: episodes.toReversed() })).toEqual(bytes);
  const file = decodeTensors(bytes);
  expect(file.metadata).toMatchObject({ format: '3', run: 'train/r', step: '7', weightVersion: 'sha256:w' });
  expect([...file.tensors.keys()].toSorted()).toEqual(['advantages', 'lengths', 'sampled']);
  expect(tensor(file, 'lengths', 'I32')).toEqual(Int32Array.of(3, 1000));
  expect(recordsOf(bytes)).toEqual([
    { key: 'a', record: episodes[1]!.record },
    { key: 'b', record: episodes[0]!.record },
  ]);
  // Other tokens are another record, and so another digest of the batch.
  const other = encodeBatchIndex({ ...batch, episodes: [indexed('b', 'd', 1000), episodes[1]!] });
  expect(other).not.toEqual(bytes);
});

test('a batch that holds its tokens refers to no record, and what is no batch is corrupt', () => {
  const whole = encodeBatch({ run: 'r', step: 1, weightVersion: 'w', episodes: [episode('a', 3)] });
  expect(recordsOf(whole)).toBeUndefined();
  expect(() => recordsOf(new TextEncoder().encode('{"a": 1}          '))).toThrow(/safetensors/);
  const index = (metadata: Record<string, string>) => encodeTensors({ tensors: new Map(), metadata });
  expect(() => recordsOf(index({ format: '3', keys: '["a"]', records: '[]' }))).toThrow('1 keys, 0 records');
  expect(() => recordsOf(index({ format: '3', keys: '["a"]', records: '[1]' }))).toThrow('records');
  expect(() => recordsOf(index({ format: '3', records: '[]' }))).toThrow('keys');
});

test('a trainer is given the newest format that it names, and tokens where it names none', () => {
  expect(batchFormatFor({ batchFormats: [1, 2, 3] })).toBe(3);
  for (const capabilities of [{}, { batchFormats: [1, 2] }, { batchFormats: 3 }, { batchFormats: ['3'] }])
    expect(batchFormatFor(capabilities)).toBe(2);
});

test('a key that occurs twice is refused', () => {
  const episodes = [episode('a', 1), episode('a', 2)];
  expect(() => encodeBatch({ run: 'r', step: 1, weightVersion: 'w', episodes })).toThrow('a twice');
  const twice = [indexed('a', 'e'), indexed('a', 'f')];
  expect(() => encodeBatchIndex({ run: 'r', step: 1, weightVersion: 'w', episodes: twice })).toThrow(
    'a twice',
  );
});

test('damaged files are named as such', () => {
  const good = encodeTensors({ tensors: new Map([['ids', Int32Array.of(1, 2)]]), metadata: {} });
  for (const bad of [
    good.slice(0, 4),
    good.slice(0, -1),
    Uint8Array.from(good, (b, i) => (i === 9 ? 0 : b)),
  ]) {
    expect(() => decodeTensors(bad)).toThrow(/safetensors/);
  }
  expect(() => tensor(decodeTensors(good), 'ids', 'F32')).toThrow('expected F32, found I32');
  expect(() => decodeTokens(good)).toThrow('bits');
});

test('a file read from disk gives the same tensors', () => {
  // `readFile` gives a Buffer: its `slice` is a view, unlike that of a plain Uint8Array.
  const ids = Int32Array.of(7, 8, 9);
  const bytes = encodeTensors({ tensors: new Map([['ids', ids]]), metadata: {} });
  expect(tensor(decodeTensors(Buffer.from(bytes)), 'ids', 'I32')).toEqual(ids);
});
