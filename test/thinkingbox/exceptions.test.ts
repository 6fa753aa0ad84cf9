/** Altered episodes that pass are listed by case; what is not listed is found, whatever the figures look like. */
import { expect, test } from 'vitest';
import { ALTERED, departures, EXCEPTIONS } from '../bench/thinkingbox-exceptions.js';

const DOMAINS = ['retail', 'travel'];
const report = (passedIds: readonly string[]) => ({
  episodes: 20,
  passedIds,
  faults: [],
  byDomain: { retail: { played: 10, passed: 0 }, travel: { played: 10, passed: passedIds.length } },
});

test.each(ALTERED)('%s: nothing is said of the listed ones, and each is listed once', (altered) => {
  const listed = EXCEPTIONS[altered];
  expect(new Set(listed).size).toBe(listed.length);
  for (const id of listed) expect(id).toMatch(/^[\w]+\.py:test_\w+$/);
  expect(departures(altered, report(listed), DOMAINS, true)).toEqual({
    ...{ unlisted: [], stale: [], domainsWithoutFailure: [] },
  });
});

test('a new one, one that is none any more, and a domain where all or none was altered', () => {
  const listed = EXCEPTIONS.extra;
  expect(departures('extra', report([...listed, 'new.py:test_a']), DOMAINS, true).unlisted).toEqual([
    'new.py:test_a',
  ]);
  expect(departures('extra', report([]), DOMAINS, true).stale).toEqual(listed);
  expect(departures('extra', report([]), DOMAINS, false).stale).toEqual([]);
  const nothingFailed = { ...report([]), byDomain: { retail: { played: 4, passed: 4 } } };
  expect(departures('extra', nothingFailed, DOMAINS, false).domainsWithoutFailure).toEqual(DOMAINS);
});
