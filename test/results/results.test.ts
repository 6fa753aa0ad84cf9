/** Result files of other runners: the shared vectors, bad rows, exit codes of the command. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readResultFiles } from '../../activities/report/results-files.js';
import { readIdList } from '../../activities/report/select-files.js';
import { readResultRow } from '../../core/results/rows.js';

const root = join(import.meta.dirname, '../..');
const vectors = join(root, '../shared/vectors/results');

async function summaryOf(
  name: string,
  plan: { allowIncomplete?: boolean; systemErrorsAsFailed?: boolean } = {},
) {
  const { uids } = await readIdList(join(vectors, 'tests.yaml'));
  const { results } = await readResultFiles([join(vectors, `${name}.jsonl`)]);
  const defaults = { allowIncomplete: false, systemErrorsAsFailed: false };
  return results.summary({ taskIds: [...uids], repeat: 4, ...defaults, ...plan });
}

describe.skipIf(!existsSync(vectors))('shared vectors (skipped without ../shared)', () => {
  for (const name of ['good', 'blank_lines']) {
    it(`${name}: complete, with scores`, async () => {
      const { coverage, scores, endings } = await summaryOf(name);
      expect(coverage).toMatchObject({ expected: 20, clean: 20, complete: true });
      expect(scores?.[0]).toMatchObject({ tasks: 5, attempts: 20, passed: 17 });
      expect(endings).toEqual({ done: { attempts: 20, passed: 17 } });
    });
  }

  const wrong = {
    missing: { missing: 2, duplicate: 0, unexpected: 0, systemError: 0 },
    duplicate: { missing: 0, duplicate: 1, unexpected: 0, systemError: 0 },
    unexpected: { missing: 0, duplicate: 0, unexpected: 1, systemError: 0 },
    system_error: { missing: 0, duplicate: 0, unexpected: 0, systemError: 1 },
    test_system_error: { missing: 0, duplicate: 0, unexpected: 0, systemError: 1 },
  };
  for (const [name, counts] of Object.entries(wrong)) {
    it(`${name}: named, and no score`, async () => {
      const { coverage, scores } = await summaryOf(name);
      const { missing, duplicate, unexpected, systemError } = coverage;
      const found = { missing, duplicate, unexpected, systemError };
      expect(Object.fromEntries(Object.entries(found).map(([kind, keys]) => [kind, keys.length]))).toEqual(
        counts,
      );
      expect(coverage.complete).toBe(false);
      expect(scores).toBeNull();
    });
  }

  it('scores what is there, or system errors as failures, only when asked', async () => {
    const left = await summaryOf('system_error', { allowIncomplete: true });
    expect(left.scores?.[0]).toMatchObject({ attempts: 19, passed: 16 });
    const failed = await summaryOf('system_error', { systemErrorsAsFailed: true });
    expect(failed.endings).toEqual({
      done: { attempts: 19, passed: 16 },
      system_error: { attempts: 1, passed: 0 },
    });
    expect(failed.scores?.[0]).toMatchObject({ attempts: 20, passed: 16 });
    expect((await summaryOf('duplicate', { allowIncomplete: true })).scores?.[0]?.attempts).toBe(19);
  });

  it('the command exits 0 when clean, 3 when keys are wrong, 2 when it cannot read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'steadfast-results-'));
    const broken = join(folder, 'broken.jsonl');
    writeFileSync(broken, readFileSync(join(vectors, 'good.jsonl'), 'utf8').slice(0, -40));
    const check = async (verb: string, ...args: string[]) => {
      const command = ['results', verb, ...args, '--tests', join(vectors, 'tests.yaml'), '--repeat', '4'];
      const run = promisify(execFile)(process.execPath, [join(root, 'cli/steadfast.mjs'), ...command]);
      const failed = (error: { code: number; stdout: string; stderr: string }) => error;
      const { stdout, stderr, code = 0 } = await run.then((output) => ({ ...output, code: 0 }), failed);
      return { stdout, stderr, code };
    };
    expect(await check('check', join(vectors, 'good.jsonl'))).toMatchObject({
      code: 0,
      stdout: '20 of 20 expected keys are clean: coverage is complete\n',
    });
    const missing = await check(
      'summarize',
      join(vectors, 'missing.jsonl'),
      '--keys-out',
      join(folder, 'keys'),
    );
    expect(missing).toMatchObject({ code: 3, stdout: expect.stringContaining('missing (2):\n') });
    expect(missing.stdout).toContain('No score is shown');
    expect(readFileSync(join(folder, 'keys'), 'utf8')).toMatch(/^missing\t.* · \d\nmissing\t.* · \d\n$/);
    const unreadable = await check('check', broken);
    expect(unreadable).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.jsonl:20: expected one whole'),
    });
    const compared = await check('compare', join(vectors, 'good.jsonl'), join(vectors, 'blank_lines.jsonl'));
    expect(compared).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('4/4: 3 → 3 of 5 tasks. pass@1: 85.0\u202f% → 85.0\u202f%, 0.0 pts'),
    });
  });
});

describe('rows', () => {
  const good = {
    metadata: {
      test_case_file: 'C:\\cases\\shop.py',
      test_case_name: 'test_a',
      repetition: 2,
      scenario: 'retail',
    },
    is_system_error: false,
    test_result: { result: true },
  };
  const read = (row: unknown) => readResultRow(JSON.stringify(row), () => 'rows.jsonl:7');

  it('take their key from the case file, whatever the path separator', () => {
    expect(read(good)).toEqual({
      taskId: 'shop.py:test_a',
      repetition: 2,
      outcome: 'passed',
      domain: 'retail',
      ending: 'unknown',
      tokens: null,
      toolCalls: null,
      toolErrors: null,
      seconds: null,
    });
  });

  it('add up token counts, and an absent verdict is a system error', () => {
    const usage = [
      { prompt_tokens: 10, completion_tokens: 2 },
      { prompt_tokens: 14, completion_tokens: 3 },
    ];
    expect(read({ ...good, usage }).tokens).toEqual({ prompt: 24, sampled: 5, calls: 2 });
    expect(read({ ...good, usage: [{ cost: 1 }] }).tokens).toBeNull();
    expect(read({ ...good, test_result: null }).outcome).toBe('system_error');
  });

  const wrong: [string, unknown, string][] = [
    [
      'a boolean repetition',
      { ...good, metadata: { ...good.metadata, repetition: true } },
      'field metadata.repetition: expected an integer, found true',
    ],
    [
      'a flag that is text',
      { ...good, is_system_error: 'false' },
      'field is_system_error: expected true or false, found "false"',
    ],
    [
      'no flag',
      { ...good, is_system_error: undefined },
      'field is_system_error: expected true or false, found no such field',
    ],
    [
      'no case name',
      { ...good, metadata: { ...good.metadata, test_case_name: '' } },
      'expected the name of the case, found ""',
    ],
    [
      'a result that is no boolean',
      { ...good, test_result: { result: 1 } },
      'field test_result.result: expected true or false, found 1',
    ],
  ];
  for (const [what, row, message] of wrong) {
    it(`refuse ${what}`, () => {
      expect(() => read(row)).toThrow(
        `rows.jsonl:7, ${message.startsWith('field') ? '' : 'field metadata.test_case_name: '}${message}`,
      );
    });
  }
});
