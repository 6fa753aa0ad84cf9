/** `steadfast select` on files: bad rows, repeated rows, outputs, and a campaign in the ledger. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Ledger } from '../../core/ledger.js';
import { attemptRows, runs } from '../metrics/rows.js';
import { runSelectCommand, temporaryFolder } from './harness.js';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

function row(uid: string, repetition: number, result: boolean | null): string {
  const verdict = result === null ? null : { result, reward: Number(result) };
  return JSON.stringify({
    uid,
    metadata: { repetition },
    is_system_error: result === null,
    test_result: verdict,
  });
}

/** Eight repetitions of each task, three of them passed. */
function rows(...uids: string[]): string[] {
  return uids.flatMap((uid) =>
    Array.from({ length: 8 }, (_, repetition) => row(uid, repetition, repetition < 3)),
  );
}

function file(name: string, lines: readonly string[] | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, lines instanceof Uint8Array ? lines : `${lines.join('\n')}\n`);
  return path;
}

function selectFrom(policy: string, ...more: string[]) {
  return runSelectCommand(['--policy', policy, '--output-dir', join(folder, 'out'), ...more]);
}

describe('bad rows', () => {
  const good = rows('shop.py:a');
  const cases: [string, string, string][] = [
    ['a truncated line', '{"uid": "shop.py:b", "test_re', 'expected one whole JSON object on the line'],
    ['a list', '[1, 2]', 'expected a JSON object, found [1, 2]'],
    ['an empty id', row('', 0, true), 'field uid: expected a non-empty string, found ""'],
    [
      'no id',
      '{"test_result": {"result": true}}',
      'field uid: expected a non-empty string, found no such field',
    ],
    [
      'a score that is text',
      '{"uid": "b", "test_result": {"result": "yes"}}',
      'field test_result.result: expected true or false, found "yes"',
    ],
    [
      'a flag that is text',
      '{"uid": "b", "is_system_error": "no"}',
      'field is_system_error: expected true or false',
    ],
    [
      'a repetition that is a boolean',
      '{"uid": "b", "metadata": {"repetition": true}}',
      'metadata.repetition: expected an integer, found true',
    ],
    [
      'the same repetition twice',
      good[2] as string,
      'found repetition 2 of "shop.py:a", which line 3 has already',
    ],
  ];
  for (const [what, line, message] of cases) {
    it(`name file and line: ${what}`, async () => {
      const policy = file('rows.jsonl', [...good, '', line]);
      const run = selectFrom(policy);
      await expect(run).rejects.toThrow(`${policy}:10`);
      await expect(run).rejects.toThrow(message);
      expect(readdirSync(folder)).toEqual(['rows.jsonl']);
    });
  }

  it('name the line of bytes that are not UTF-8', async () => {
    const policy = file(
      'rows.jsonl',
      Buffer.concat([Buffer.from(`${good[0]}\n`), Buffer.from([0x7b, 0xff, 0x0a])]),
    );
    await expect(selectFrom(policy)).rejects.toThrow(`${policy}:2: expected UTF-8`);
  });

  it('name a file that is not there, and a named flag that a row lacks', async () => {
    await expect(selectFrom(join(folder, 'none.jsonl'))).rejects.toThrow(
      'none.jsonl: expected a readable file, found no such',
    );
    const policy = file('rows.jsonl', ['{"uid": "b", "test_result": {"result": true}}']);
    await expect(selectFrom(policy, '--system-error-field', 'failed')).rejects.toThrow(
      ':1, field failed: expected true',
    );
  });
});

describe('rows', () => {
  it('are read by dotted paths, with line ends of any kind and none at the end', async () => {
    const lines = Array.from({ length: 8 }, (_, run) =>
      JSON.stringify({ task: { id: 'a' }, runs: [{ ok: run < 3 }] }),
    );
    const policy = file('rows.jsonl', Buffer.from(lines.join('\r\n')));
    const { out } = await selectFrom(policy, '--uid-field', 'task.id', '--success-field', 'runs.0.ok');
    expect(out).toContain('1 selected');
    expect(out).toMatch(/difficult +0\.08-0\.40 +█+ 1\n/);
  });

  it('of several files count, with a warning, when repetitions start again', async () => {
    const [first, second] = [file('a.jsonl', rows('shop.py:a')), file('b.jsonl', rows('shop.py:a'))];
    const { err } = await runSelectCommand([
      '--policy',
      first,
      '--policy',
      second,
      '--output-dir',
      join(folder, 'out'),
    ]);
    expect(err).toBe(
      `warning: 8 rows of ${second} repeat a task and repetition of ${first}; all were counted\n`,
    );
    const manifest = JSON.parse(readFileSync(join(folder, 'out/manifest.json'), 'utf8'));
    expect(manifest.summary.input_rows).toBe(16);
  });

  it('that repeat byte for byte can be dropped', async () => {
    const policy = file('rows.jsonl', [...rows('shop.py:a'), ...rows('shop.py:a')]);
    const { out } = await selectFrom(policy, '--drop-identical', '--json');
    expect(JSON.parse(out)).toMatchObject({ dropped_identical_rows: 8, summary: { input_rows: 8 } });
  });

  it('with system errors only are named, never scored', async () => {
    const lost = {
      uid: 'shop.py:b',
      is_system_error: false,
      test_result: { result: false, is_system_error: true },
    };
    const policy = file('rows.jsonl', [
      ...rows('shop.py:a'),
      row('shop.py:c', 0, null),
      JSON.stringify(lost),
    ]);
    const { out } = await selectFrom(policy);
    expect(out).toContain(
      '2 tasks have system errors only (no_clean_runs):\n  shop.py:b: 1 unknown\n  shop.py:c',
    );
    const manifest = JSON.parse(readFileSync(join(folder, 'out/manifest.json'), 'utf8'));
    expect(manifest.no_clean_runs['shop.py:c']).toEqual({ system_errors: 1, kinds: { unknown: 1 } });
  });
});

describe('exclusions', () => {
  const cases: [string, string, string][] = [
    ['x.yaml', '- a\n- b\n- a\n', 'entry 3: expected each id once, found "a" again'],
    [
      'x.json',
      '{"uids": ["a"], "more": 1}',
      'whose only key is "uids", found an object with keys uids, more',
    ],
    ['x.json', '["a", ""]', 'entry 2: expected a non-empty string'],
    ['x.json', '["a"', 'expected JSON'],
    ['x.yaml', 'a: [b\n', 'expected YAML'],
    ['x.yaml', '', 'found nothing'],
  ];
  for (const [name, text, message] of cases) {
    it(`refuse ${JSON.stringify(text)}`, async () => {
      const exclusions = file(name, Buffer.from(text));
      const policy = file('rows.jsonl', rows('shop.py:a'));
      await expect(selectFrom(policy, '--exclude-uids', exclusions)).rejects.toThrow(message);
    });
  }
});

describe('outputs', () => {
  it('may be written again, and are replaced by another selection only with --force', async () => {
    const policy = file('rows.jsonl', rows('shop.py:a', 'shop.py:b', 'shop.py:c'));
    await selectFrom(policy);
    await selectFrom(policy);
    await expect(selectFrom(policy, '--mode', 'split')).rejects.toThrow('manifest.json, selected.yaml in');
    await selectFrom(policy, '--mode', 'split', '--force');
    const names = ['aggregates.jsonl', 'histogram.svg', 'manifest.json', 'test.yaml', 'train.yaml'];
    expect(readdirSync(join(folder, 'out')).sort()).toEqual(names);
  });

  it('leave other files in the folder alone, and --json prints one document', async () => {
    const policy = file('rows.jsonl', rows('shop.py:a'));
    const { out } = await runSelectCommand(['--policy', policy, '--output-dir', folder, '--json']);
    expect(readdirSync(folder)).toContain('rows.jsonl');
    const document = JSON.parse(out);
    expect(document.bands.map(({ tasks }: { tasks: number }) => tasks)).toEqual([0, 1, 0, 0, 0]);
    expect(document.field_names.policy).toMatchObject({ uid: 'uid', system_error_named: false });
  });
});

describe('--campaign', () => {
  const tasks = ['shop.py:a', 'shop.py:b'].map((taskId) => ({ taskId, results: [...runs(3, 7), null] }));

  /** The part of a ledger that `select` reads. */
  function ledgerOf(attempts: ReturnType<typeof attemptRows>): Ledger {
    const config = { kind: 'probe', tasks: ['shop.py:a', 'shop.py:b'], repeat: 8 };
    const part: Pick<Ledger, 'campaign' | 'attempts'> = {
      campaign: async (id) => (id === 'probe/base' ? ({ id, config } as never) : undefined),
      attempts: async () => attempts,
    };
    return part as Ledger;
  }

  it('takes its rows from the ledger', async () => {
    const args = ['--campaign', 'base', '--output-dir', join(folder, 'out'), '--json'];
    const { out } = await runSelectCommand(args, ledgerOf(attemptRows('probe/base', tasks)));
    expect(JSON.parse(out)).toMatchObject({
      inputs: { policy: ['ledger:base'] },
      summary: { selected_tasks: 2, input_rows: 16 },
    });
    const [first] = readFileSync(join(folder, 'out/aggregates.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ clean_runs: 7, successes: 3, system_errors: 1 });
  });

  it('refuses an unknown, an unfinished and a partly planned campaign', async () => {
    const args = ['--output-dir', join(folder, 'out'), '--campaign'];
    const all = attemptRows('probe/base', tasks);
    await expect(runSelectCommand([...args, 'other'], ledgerOf(all))).rejects.toThrow(
      'found no "probe/other"',
    );
    await expect(runSelectCommand([...args, 'base'], ledgerOf(all.slice(1)))).rejects.toThrow(
      '15 planned so far of 16',
    );
    const open = attemptRows(
      'probe/base',
      tasks.map((task) => ({ ...task, results: [...runs(3, 7), undefined] })),
    );
    await expect(runSelectCommand([...args, 'base'], ledgerOf(open))).rejects.toThrow(
      'found 2 of 16 pending, the first',
    );
    await expect(runSelectCommand([...args, 'base', '--policy', 'x'], ledgerOf(all))).rejects.toThrow(
      'found both',
    );
  });
});
