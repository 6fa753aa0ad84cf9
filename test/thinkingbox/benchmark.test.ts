/** The digests by which the 507 cases are known in any folder, against a checkout. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { benchmarkDigests, benchmarkLine, isBenchmark } from '../../suites/thinkingbox/benchmark.js';
import { nativeFile } from '../../suites/thinkingbox/native.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import type { ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import { DATA, THINKINGBOX, titled } from './given.js';

const given = THINKINGBOX !== undefined && DATA !== undefined;
const HEAD = '# Digests of the cases of ThinkingBox-Bench v1.0: id, and start state with golden calls.\n';

test('a copy under another name is known by its start state and solution, another case by neither', async () => {
  const known = await benchmarkDigests();
  const [template = ''] = known.templates;
  const listed = {
    id: 'mine.py:test_copy',
    scenario: 's',
    domain: null,
    searches: false,
    digest: `sha256:${'0'.repeat(64)}`,
    templateDigest: `sha256:${template.padEnd(64, '0')}`,
  };
  expect(isBenchmark(listed, known)).toBe(true);
  expect(isBenchmark({ ...listed, templateDigest: listed.digest }, known)).toBe(false);
});

describe.skipIf(!given)(titled('benchmark.txt', given), () => {
  let suite: ThinkingBoxSuite;
  beforeAll(async () => {
    suite = await openThinkingBox({ ...process.env, THINKINGBOX_CASES: undefined });
  }, 300_000);
  afterAll(() => suite?.close());

  test('holds each of the 507', async () => {
    const lines = (await suite.tasks()).map((task) => benchmarkLine(task)).toSorted();
    const path = nativeFile('benchmark.txt');
    if (process.env.STEADFAST_RECORD_BENCHMARK) await writeFile(path, `${HEAD}${lines.join('\n')}\n`);
    expect(lines).toHaveLength(507);
    expect(await readFile(path, 'utf8')).toBe(`${HEAD}${lines.join('\n')}\n`);
    expect((await suite.tasks()).map(({ split }) => split)).toEqual(Array(507).fill('benchmark'));
  });
});
