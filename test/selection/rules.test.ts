/** The rules one by one: bands, value for training, gates, split. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { assessor } from '../../core/selection/assess.js';
import { bandMasses, bandOf } from '../../core/selection/bands.js';
import { byCodePoint, sortedJson } from '../../core/selection/names.js';
import { SELECTION_DEFAULTS, type SelectionOptions } from '../../core/selection/options.js';
import { select } from '../../core/selection/select.js';
import { splitIds, splitRank } from '../../core/selection/split.js';
import { EMPTY_TALLY, type Tally } from '../../core/selection/tally.js';
import { yamlList } from '../../core/selection/yaml-list.js';
import { jeffreysPosterior } from '../../core/stats/posterior.js';

function tally(successes: number, clean: number, systemErrors = 0): Tally {
  return { ...EMPTY_TALLY, rows: clean + systemErrors, successes, failures: clean - successes, systemErrors };
}

function assessment(
  successes: number,
  clean: number,
  options: Partial<SelectionOptions> = {},
  reference?: Tally,
) {
  return assessor({ ...SELECTION_DEFAULTS, ...options })('shop.py:a', tally(successes, clean), reference);
}

describe('bands', () => {
  it('are the documented ones for small n', () => {
    const bandsFor = (n: number) =>
      Array.from({ length: n + 1 }, (_, k) => bandOf(bandMasses(jeffreysPosterior(k, n).below))).join(' ');
    expect(bandsFor(8)).toBe('too_hard hard hard hard medium easy easy easy too_easy');
    expect(bandsFor(4)).toBe('too_hard hard medium easy too_easy');
    expect(bandsFor(3)).toBe('too_hard hard easy too_easy');
    expect(bandsFor(1)).toBe('hard too_easy');
    expect(bandMasses(jeffreysPosterior(3, 8).below).hard).toBeCloseTo(0.54, 3);
  });

  it('give an exact tie to the harder one', () => {
    const even = { too_hard: 0, hard: 0.25, medium: 0.25, easy: 0.25, too_easy: 0.25 };
    expect(bandOf(even)).toBe('hard');
  });
});

describe('gates', () => {
  it('value tasks for training', () => {
    const trainingValue = (successes: number, clean: number) => assessment(successes, clean).trainingValue;
    expect(trainingValue(8, 8)).toBe('low_value');
    expect(trainingValue(6, 8)).toBe('easy_value');
    expect(trainingValue(4, 8)).toBe('high_value');
    expect(trainingValue(1, 8)).toBe('highest_value');
    expect(trainingValue(0, 1)).toBe('insufficient_data');
    expect(trainingValue(0, 20)).toBe('very_hard');
  });

  it('collect all reasons', () => {
    const none = assessment(2, 2, {}, EMPTY_TALLY);
    expect(none.rejections).toEqual(['insufficient_clean_runs', 'difficulty_not_retained', 'reference_gate']);
    expect(assessment(3, 8).rejections).toEqual([]);
  });

  it('screen by the reference only where reference rows were given', () => {
    expect(assessment(3, 8, {}, tally(1, 1)).rejections).toEqual([]);
    expect(assessment(3, 8, { referenceMinSuccesses: 2 }, tally(1, 4)).rejections).toEqual([
      'reference_gate',
    ]);
    const pair = { referenceThreshold: 0.5, referenceMinProbability: 0.9 };
    expect(assessment(3, 8, pair, tally(4, 4)).reference).toMatchObject({ solvable: true });
    expect(assessment(3, 8, pair, tally(3, 4)).reference).toMatchObject({ solvable: false });
    const unseen = { ...pair, referenceMinCleanRuns: 0, referenceMinSuccesses: 0 };
    expect(assessment(3, 8, unseen, EMPTY_TALLY).reference).toMatchObject({
      probabilityAbove: 0,
      solvable: false,
    });
  });

  it('leave out excluded ids first, and name tasks without clean runs', () => {
    const policy = new Map([
      ['shop.py:a', tally(3, 8)],
      ['shop.py:b', { ...tally(0, 0, 4), errorKinds: { RuntimeError: 4 } }],
      ['shop.py:c', tally(3, 8)],
    ]);
    const selection = select(
      { policy, reference: null, excluded: new Set(['shop.py:c', 'x']) },
      SELECTION_DEFAULTS,
    );
    expect(selection.selected).toEqual(['shop.py:a']);
    expect(selection.noCleanRuns).toMatchObject([
      { uid: 'shop.py:b', tally: { errorKinds: { RuntimeError: 4 } } },
    ]);
    expect(selection.summary).toMatchObject({
      aggregatedTasks: 3,
      cleanTasks: 1,
      excludedPresent: 1,
      inputRows: 20,
    });
    const nothing = {
      policy: new Map([['a', tally(0, 0, 2)]]),
      reference: null,
      excluded: new Set<string>(),
    };
    expect(() => select(nothing, SELECTION_DEFAULTS)).toThrow('expected at least one clean run');
  });

  it('refuse options out of range', () => {
    const input = { policy: new Map([['a', tally(1, 4)]]), reference: null, excluded: new Set<string>() };
    const run = (options: Partial<SelectionOptions>) => () =>
      select(input, { ...SELECTION_DEFAULTS, ...options });
    expect(run({ minCleanRuns: 1.5 })).toThrow('--min-clean-runs: expected an integer from 1, found 1.5');
    expect(run({ testFraction: 1 })).toThrow('--test-fraction');
    expect(run({ referenceThreshold: 0.5 })).toThrow('both or neither, found only the first');
    expect(run({ retainBands: [] })).toThrow('--retain-band');
  });
});

describe('split', () => {
  it('ranks as documented', () => {
    expect(splitRank(42, 'acme_retail.py\0fallback', 'acme_retail.py:test_00').slice(0, 16)).toBe(
      '2c67366568643e03',
    );
  });

  const pools = fc.uniqueArray(
    fc.record({
      family: fc.constantFrom('shop.py:', 'bank.py:', 'air.py:', ''),
      name: fc.nat(60),
      passed: fc.integer({ min: 1, max: 7 }),
      clean: fc.constantFrom(8, 12),
    }),
    { minLength: 1, maxLength: 40, selector: ({ family, name }) => `${family}${name}` },
  );

  it('holds out the target of every family, and does not depend on the order of rows', () => {
    fc.assert(
      fc.property(pools, fc.nat(), fc.integer({ min: 1, max: 9 }), (pool, seed, tenths) => {
        const entries = pool.map(
          ({ family, name, passed, clean }) => [`${family}t${name}`, tally(passed, clean)] as const,
        );
        const options: SelectionOptions = {
          ...SELECTION_DEFAULTS,
          mode: 'split',
          seed,
          testFraction: tenths / 10,
        };
        const run = (rows: typeof entries) =>
          select({ policy: new Map(rows), reference: null, excluded: new Set() }, options);
        const { train, test, selected } = run(entries);
        expect(run([...entries].reverse())).toMatchObject({ train, test });
        expect([...(train ?? []), ...(test ?? [])].sort(byCodePoint)).toEqual(selected);
        const familyOf = (uid: string) => (uid.includes(':') ? uid.split(':')[0] : 'single_dataset');
        for (const family of new Set(selected.map(familyOf))) {
          const size = selected.filter((uid) => familyOf(uid) === family).length;
          const held = (test ?? []).filter((uid) => familyOf(uid) === family).length;
          expect(held).toBe(
            size === 1 ? 0 : Math.min(Math.max(1, Math.ceil(size * (tenths / 10))), size - 1),
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('documents', () => {
  it('write ids that read back as the same strings', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom(
        'yes',
        '12',
        '1_000',
        '0x1f',
        '1:30',
        '~',
        '- a',
        'a: b',
        'a #b',
        "it's",
        '2001-01-01',
        '1e3',
        '.5',
        '=',
        '?',
        ':',
      ),
      fc.string({ unit: 'binary', minLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(id), (ids) => {
        expect(parse(yamlList(ids))).toEqual(ids);
      }),
      { numRuns: 150 },
    );
  });

  it('write them as PyYAML does', () => {
    const ids = [
      'shop.py:a',
      'yes',
      '12',
      'a: b',
      "it's",
      '- x',
      '-x',
      '?',
      'a #b',
      'a#b',
      'é',
      'tab\there',
      '😀',
      'a:',
      '-',
    ];
    // yaml.safe_dump(ids) of PyYAML 6.0.4, default flow style off.
    expect(yamlList(ids)).toBe(
      [
        '- shop.py:a',
        "- 'yes'",
        "- '12'",
        "- 'a: b'",
        "- it's",
        "- '- x'",
        '- -x',
        "- '?'",
        "- 'a #b'",
        '- a#b',
        '- "\\xE9"',
        '- "tab\\there"',
        '- "\\U0001F600"',
        "- 'a:'",
        "- '-'",
        '',
      ].join('\n'),
    );
    expect(yamlList([])).toBe('[]\n');
  });

  it('sort keys and names by code point', () => {
    expect(sortedJson({ b: [{ d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1}]}');
    expect(['\u{1f600}', '\uffee', 'a', 'B', 'ab'].sort(byCodePoint)).toEqual([
      'B',
      'a',
      'ab',
      '\uffee',
      '\u{1f600}',
    ]);
  });
});

describe('a split of ids alone', () => {
  const ids = fc.uniqueArray(fc.stringMatching(/^[ab]:[a-z0-9]{1,4}$/), { maxLength: 40 });

  it('shares out every id once, holds out some of each family, and does not depend on the order', () => {
    fc.assert(
      fc.property(ids, fc.integer({ min: 0, max: 9 }), (all, seed) => {
        const { train, test } = splitIds(all, 0.2, seed);
        expect([...train, ...test].sort()).toEqual([...all].sort());
        for (const family of ['a:', 'b:']) {
          const of = (list: readonly string[]) => list.filter((id) => id.startsWith(family)).length;
          const size = of(all);
          expect(of(test)).toBe(size < 2 ? 0 : Math.min(Math.ceil(size * 0.2), size - 1));
        }
        expect(new Set(splitIds(all.toReversed(), 0.2, seed).test)).toEqual(new Set(test));
      }),
    );
  });
});
