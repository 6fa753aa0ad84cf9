/** Rows that ran elsewhere, as a campaign of a real ledger: what is written, what is refused, and every verb that shows it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { type ImportRequest, importResults } from '../../activities/imports/import-results.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { gapsText } from '../../cli/run/gaps.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import { UsageError } from '../../core/faults.js';
import type { CampaignRow } from '../../core/ledger.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const root = join(import.meta.dirname, '../..');
const TASKS = ['shop.py:test_a', 'shop.py:test_b', 'air.py:test_c'];
const REPEAT = 2;

let database: TestDatabase;
let folder: string;
let artifacts: ArtifactStore;

beforeAll(async () => {
  database = await startTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'steadfast-import-'));
  artifacts = createLocalArtifacts(join(folder, 'artifacts'));
  writeFileSync(join(folder, 'tests.json'), JSON.stringify(TASKS));
});

afterAll(async () => {
  await database?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const text = (role: string, content: string, metadata = {}) => ({ T: 'Text', role, content, metadata });

function row(task: string, repetition: number, change: object = {}): object {
  const [file, name] = task.split(':');
  return {
    uid: name,
    messages: [
      text('system', 'Help.'),
      text('user', 'Refund it.'),
      text('assistant', 'Look first.', { tag: 'think' }),
      {
        T: 'ParallelToolCall',
        tool_calls: [
          { T: 'ToolCall', name: 'find', arguments: { id: 7 }, id: 'c1', metadata: { error: null } },
        ],
      },
      { T: 'ToolResponse', name: 'find', content: 'Error: no order 7', id: 'c1' },
      text('assistant', 'There is none. <DONE>'),
    ],
    test_result: {
      result: repetition === 0,
      reward: repetition === 0 ? 1 : 0,
      line_content: 'assert refunded',
    },
    usage: [{ input_tokens: 100, output_tokens: 20 }],
    metadata: {
      scenario: file === 'air.py' ? 'external_booking_v1' : 'sandbox_external_retail',
      test_case_file: `/data/${file}`,
      test_case_name: name,
      repetition,
      execution_time: 12.5,
    },
    is_system_error: false,
    finish_reason: 'done',
    ...change,
  };
}

const all = (): object[] => TASKS.flatMap((task) => [row(task, 0), row(task, 1)]);

function rowsFile(name: string, rows: readonly object[]): string {
  const file = join(folder, name);
  writeFileSync(file, rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return file;
}

const importing = (name: string, files: readonly string[], change: Partial<ImportRequest> = {}) =>
  importResults(
    { pool: database.pool, ledger: database.ledger, artifacts },
    {
      name,
      files,
      taskIds: TASKS,
      repeat: REPEAT,
      model: 'gpt-x',
      suite: 'thinkingbox',
      otherEndingsAs: null,
      systemErrorsAsFailed: false,
      domainOf: (scenario) => scenario,
      ...change,
    },
  );

const soundOf = (campaign: string) =>
  verifyLedger({ pool: database.pool, ledger: database.ledger, artifacts, campaign });

it('writes a whole evaluation once: rows, conversations, tool errors, tokens, times', async () => {
  const file = rowsFile('whole.jsonl', all());
  expect(await importing('whole', [file])).toMatchObject({ campaign: 'eval/whole', rows: 6, added: 6 });
  expect(await importing('whole', [file])).toMatchObject({ rows: 6, added: 0 });

  const campaign = await database.ledger.campaign('eval/whole');
  expect(campaign).toMatchObject({ state: 'done', suite: 'thinkingbox' });
  expect(campaign?.config).toMatchObject({ model: { kind: 'imported', name: 'gpt-x' }, repeat: 2 });
  const attempt = await database.ledger.attempt('eval/whole · shop.py:test_b · 1');
  expect(attempt).toMatchObject({
    state: 'clean',
    passed: false,
    termination: 'done',
    wallMs: 12_500,
    toolCalls: 1,
    toolErrors: 1,
    turns: 2,
    verdict: { reasons: ['assert refunded'] },
    usage: { policyPromptTokens: 100, policySampledTokens: 20, policyCalls: 1 },
  });
  expect(attempt?.history).toMatchObject([{ worker: 'import whole.jsonl:4', state: 'clean' }]);
  const document = JSON.parse(Buffer.from(await artifacts.get(attempt?.trajectory ?? '')).toString());
  expect(document.imported).toMatchObject({ file: 'whole.jsonl', line: 4 });
  expect(document.messages.map((message: { role: string }) => message.role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
  expect(document.messages[2]).toMatchObject({ reasoning: 'Look first.', toolCalls: [{ name: 'find' }] });
  expect(await database.ledger.toolUse('eval/whole')).toEqual({
    episodes: 6,
    calls: 6,
    errors: 6,
    episodesWithErrors: 6,
  });
  expect((await soundOf('eval/whole')).violations).toEqual([]);
});

it('keeps system errors unscored and missing keys pending, and goes on after a crash', async () => {
  const lost = { is_system_error: true, test_result: null };
  const error = {
    type: 'TimeoutError',
    message: 'Error during decoding turn 3 for test case test_a',
    tb: 'trace',
  };
  const first = row(TASKS[0] as string, 0, lost) as { metadata: object };
  const unchecked = row(TASKS[0] as string, 1, {
    test_result: { result: false, is_system_error: true, tb: 'T\nKeyError: 1' },
  });
  const file = rowsFile('partly.jsonl', [
    { ...first, metadata: { ...first.metadata, error } },
    unchecked,
    ...all().slice(2, 5),
  ]);
  const report = await importing('partly', [file]);
  expect(report).toMatchObject({ added: 5, coverage: { clean: 3, complete: false } });
  expect(await database.ledger.counts('eval/partly')).toMatchObject({
    planned: 6,
    clean: 3,
    pending: 1,
    exhausted: 2,
    faults: { policy: 1, grader: 1 },
  });
  expect(await database.ledger.campaign('eval/partly')).toMatchObject({
    state: 'stopped',
    result: { score: null, cause: 'the imported rows lack 1 of 6 keys' },
  });
  expect((await soundOf('eval/partly')).violations).toEqual([]);
  const gaps = await gapsText(
    database.ledger,
    (await database.ledger.campaign('eval/partly')) as CampaignRow,
  );
  expect(gaps.split('\n')).toEqual([
    '3 of 6 expected keys are clean',
    'missing (1):',
    '  eval/partly · air.py:test_c · 1',
    'system error (2):',
    '  eval/partly · shop.py:test_a · 0',
    '  eval/partly · shop.py:test_a · 1',
    'why:',
    '  policy TimeoutError (1): Error during decoding turn 3 for test case test_a',
    '  grader imported (1): the check failed to run: KeyError: 1',
    "  every try of one: steadfast show 'eval/partly · shop.py:test_a · 0'",
  ]);

  // As a crash leaves it: claimed, running, some results not written.
  const whole = rowsFile('crash.jsonl', all());
  await importing('crash', [whole]);
  await database.pool.query(`UPDATE attempts SET state = 'pending', clean_try = NULL, passed = NULL, reward = NULL,
    ended_at = NULL WHERE campaign = 'eval/crash' AND slot = '1'`);
  await database.pool.query(`DELETE FROM tries WHERE attempt_id IN
    (SELECT id FROM attempts WHERE campaign = 'eval/crash' AND slot = '1')`);
  await database.ledger.setCampaignState('eval/crash', 'running');
  expect(await importing('crash', [whole])).toMatchObject({ added: 3 });
  expect(await database.ledger.counts('eval/crash')).toMatchObject({ planned: 6, clean: 6 });
});

it('refuses what it cannot be sure of, before anything is written', async () => {
  const twice = rowsFile('twice.jsonl', [...all(), row(TASKS[0] as string, 0)]);
  expect(await importing('twice', [twice])).toMatchObject({ refused: { duplicate: ['shop.py:test_a · 0'] } });
  const odd = rowsFile('odd.jsonl', [
    row(TASKS[0] as string, 0, { finish_reason: 'skipped' }),
    ...all().slice(1),
  ]);
  await expect(importing('odd', [odd])).rejects.toThrow(
    /odd\.jsonl:1, field finish_reason: expected one of done/,
  );
  const none = rowsFile('none.jsonl', [
    row(TASKS[0] as string, 0, { is_system_error: true, test_result: null }),
  ]);
  await expect(importing('none', [none])).rejects.toThrow('at least one clean row, found 1 rows, all lost');
  for (const name of ['twice', 'odd', 'none']) {
    expect(await database.ledger.campaign(`eval/${name}`)).toBeUndefined();
  }
  expect(await importing('odd', [odd], { otherEndingsAs: 'done' })).toMatchObject({ added: 6 });

  const other = rowsFile('other.jsonl', all().reverse());
  await importing('taken', [rowsFile('taken.jsonl', all())]);
  await expect(importing('taken', [other])).rejects.toThrow(
    /the rows that it holds already: taken\.jsonl .* other rows: other\.jsonl/,
  );
  await expect(importing('taken', [join(folder, 'taken.jsonl')], { model: 'gpt-y' })).rejects.toThrow(
    UsageError,
  );
});

it('is shown as imported by every verb', async () => {
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    // Nothing of this asks Temporal.
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    STEADFAST_HOME: folder,
    STEADFAST_ARTIFACTS: join(folder, 'artifacts'),
  };
  const steadfast = async (...args: string[]) => {
    const run = promisify(execFile)(process.execPath, [join(root, 'cli/steadfast.mjs'), ...args], { env });
    const failed = (error: { code: number; stdout: string; stderr: string }) => error;
    const { stdout, stderr, code = 0 } = await run.then((output) => ({ ...output, code: 0 }), failed);
    return { stdout, stderr, code };
  };
  const file = rowsFile('verbs.jsonl', all());
  const list = ['--tests', join(folder, 'tests.json'), '--repeat', String(REPEAT)];
  const prices = join(folder, 'prices.json');
  writeFileSync(prices, JSON.stringify({ 'gpt-x': { promptPerMillion: 1, sampledPerMillion: 5 } }));
  const imported = await steadfast('results', 'import', file, '--name', 'verbs', '--model', 'gpt-x', ...list);
  expect(imported).toMatchObject({ code: 0, stderr: expect.stringContaining('6 of 6 rows are new') });

  const [status, episodes, show, report, compared] = await Promise.all([
    steadfast('status', 'eval/verbs'),
    steadfast('episodes', 'verbs', '--outcome', 'failed'),
    steadfast('show', 'eval/verbs', '·', 'air.py:test_c', '·', '0'),
    steadfast('report', 'verbs', '--out', folder),
    steadfast('compare', 'verbs', `rows=${file}`, ...list, '--prices', prices),
  ]);
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('imported from verbs.jsonl') });
  expect(episodes.stderr).toContain('eval/verbs is imported from verbs.jsonl');
  expect(show.stdout).toMatch(/imported {5}verbs\.jsonl:5, SHA-256/);
  expect(report.code).toBe(0);
  const page = readFileSync(join(folder, 'eval', 'verbs', 'report.html'), 'utf8');
  expect(page).toContain('eval/verbs ran elsewhere; its rows are imported.');
  expect(readFileSync(join(folder, 'eval', 'verbs', 'report.md'), 'utf8')).toContain(
    'is imported: it ran elsewhere',
  );
  // The price of one side is missing: one error, no cost of zero.
  expect(compared).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a price for model "rows", found prices for: gpt-x'),
  });
});
