/** Benchmark tasks among probe rows: left out of every pool by default, named, and refused where one is in a pool. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { refuseBenchmark } from '../../cli/run/resolve.js';
import type { Ledger } from '../../core/ledger.js';
import type { Suite, TaskRef } from '../../core/suite.js';
import { attemptRows, runs } from '../metrics/rows.js';
import { runSelectCommand, temporaryFolder } from './harness.js';

/** One case of the 507, and a task of the built-in benchmark. */
const OFFICIAL = 'sandbox_external_retail_group1.py:test_case_ST002_001';
const BUILT_IN = 'bank_benchmark:fraud-02';
const OWN = ['shop.py:a', 'shop.py:b'];

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function rowsOf(...uids: readonly string[]): string {
  const path = join(folder, 'rows.jsonl');
  const lines = uids.flatMap((uid) =>
    [0, 1, 2, 3].map((repetition) =>
      JSON.stringify({
        ...{ uid, metadata: { repetition }, is_system_error: false },
        test_result: { result: repetition < 2, reward: repetition < 2 ? 1 : 0 },
      }),
    ),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

const out = () => join(folder, 'out');
const selected = () => readFileSync(join(out(), 'selected.yaml'), 'utf8');
const manifest = () => JSON.parse(readFileSync(join(out(), 'manifest.json'), 'utf8'));
const fromFile = (uids: readonly string[], ...more: readonly string[]) =>
  runSelectCommand(['--policy', rowsOf(...uids), '--output-dir', out(), ...more]);

it('rows of another runner: both benchmarks are left out by id, and named', async () => {
  const { err } = await fromFile([OFFICIAL, ...OWN, BUILT_IN]);
  expect(err).toContain(`2 benchmark tasks left out: ${BUILT_IN}, ${OFFICIAL}`);
  expect(selected()).toBe('- shop.py:a\n- shop.py:b\n');
  expect(manifest()).toMatchObject({
    benchmark: { left_out: [BUILT_IN, OFFICIAL], kept: [] },
    summary: { excluded_uids_present: 2, selected_tasks: 2 },
  });
});

it('--keep-benchmark keeps them, and says who refuses them', async () => {
  const { err } = await fromFile([OFFICIAL, ...OWN], '--keep-benchmark');
  expect(err).toMatch(/1 benchmark task may be selected, as asked: .*probe and train refuse/);
  expect(selected()).toContain(OFFICIAL);
  expect(manifest().benchmark).toEqual({ left_out: [], kept: [OFFICIAL] });
});

it('benchmark rows alone are one error that says what can be done', async () => {
  await expect(fromFile([OFFICIAL])).rejects.toThrow(
    /candidates for a pool.*benchmark tasks alone.*--keep-benchmark/,
  );
});

it('a suite that is named and cannot be opened is an error', async () => {
  await expect(fromFile(OWN, '--suite', 'nothing')).rejects.toThrow(/suite: expected/);
});

it("an old probe that has some: left out as the campaign's suite says, and by id where that cannot be opened", async () => {
  const attempts = attemptRows(
    'probe/old',
    [BUILT_IN, ...OWN].map((taskId) => ({ taskId, results: runs(3, 8) })),
  );
  const ledgerOf = (suite: string) =>
    ({
      campaign: async (id: string) => ({ id, suite, config: { tasks: [BUILT_IN, ...OWN], repeat: 8 } }),
      attempts: async () => attempts,
    }) as unknown as Ledger;
  const args = ['--campaign', 'old', '--output-dir', out()];
  await runSelectCommand(args, ledgerOf('deskbench'));
  expect(manifest().benchmark.left_out).toEqual([BUILT_IN]);
  const { err } = await runSelectCommand([...args, '--force'], ledgerOf('gone'));
  expect(err).toMatch(/suite gone cannot be opened here, so benchmark tasks were looked for by id alone/);
  expect(manifest().benchmark.left_out).toEqual([BUILT_IN]);
});

it('a pool with one is refused, with the id', async () => {
  const refs = [
    { id: OFFICIAL, split: 'benchmark' },
    { id: 'own', split: 'train' },
  ] as unknown as TaskRef[];
  const suite = { tasks: async () => refs } as unknown as Suite;
  await expect(refuseBenchmark('training pool', suite, ['own', OFFICIAL])).rejects.toThrow(
    `training pool: expected no benchmark task, found ${OFFICIAL}`,
  );
  await expect(refuseBenchmark('training pool', suite, ['own'])).resolves.toBeUndefined();
});
