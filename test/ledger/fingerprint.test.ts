import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { canonicalJson, configDiff, describeChanges, fingerprint } from '../../core/fingerprint.js';

/** JSON as a database gives it back: `-0` and undefined do not survive the way. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test('the order of keys does not count, the order of lists does', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true })).toBe(
    '{"a":true,"b":[1,{"c":"x","d":null}]}',
  );
  expect(fingerprint({ a: 1, b: 2 })).toBe(fingerprint({ b: 2, a: 1 }));
  expect(fingerprint(['a', 'b'])).not.toBe(fingerprint(['b', 'a']));
  expect(fingerprint({ a: 1, gone: undefined })).toBe(fingerprint({ a: 1 }));
});

test('canonical JSON is JSON of the same value', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(value);
    }),
  );
});

test('configurations differ somewhere exactly when their fingerprints do', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(configDiff(a, b).length === 0).toBe(fingerprint(a) === fingerprint(b));
      expect(configDiff(a, structuredClone(a))).toEqual([]);
    }),
  );
});

test('every changed path is named with both values', () => {
  const before = { limits: { episodeMs: 1000, turns: 10 }, tasks: ['a', 'b'], seed: 1, old: { x: 1 } };
  const after = { limits: { episodeMs: 2000, turns: 10 }, tasks: ['a', 'c', 'd'], seed: 1, 'new key': null };
  expect(describeChanges(configDiff(before, after)).split('\n')).toEqual([
    'limits.episodeMs: 1000 → 2000',
    '"new key": absent → null',
    'old: {"x":1} → absent',
    'tasks[1]: "b" → "c"',
    'tasks[2]: absent → "d"',
  ]);
});

test('what JSON cannot say is refused with its path', () => {
  expect(() => canonicalJson({ plan: { rates: [1, Number.NaN] } })).toThrow(
    new UsageError('plan.rates[1]', 'a JSON value', 'NaN'),
  );
  expect(() => canonicalJson({ when: new Date() })).toThrow('when: expected a JSON value, found Date');
});
