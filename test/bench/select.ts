/**
 * `select`: choosing a pool from a million probe rows, as JSON Lines on disk. A process of its own, whose CPU time and
 * largest resident memory are the kernel's own numbers (`/proc`, looked at while it runs).
 */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ROOT } from '../../infra/setup/root.mjs';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { watched } from './watched.js';

const ROWS = 1_000_000;
const RUNS_A_TASK = 20;
const BAR_SECONDS = 20;
const BAR_GB = 1;

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const rows = quick ? ROWS / 50 : ROWS;
  const folder = mkdtempSync(join(tmpdir(), 'steadfast-bench-select-'));
  try {
    const file = join(folder, 'rows.jsonl');
    await pipeline(Readable.from(probeRows(rows)), createWriteStream(file));
    const { seconds, bytes } = await watched([
      ...[join(ROOT, 'cli', 'steadfast.mjs'), 'select', '--policy', file],
      ...['--output-dir', join(folder, 'out'), '--json'],
    ]);
    const gigabytes = rounded(bytes / 1e9);
    const common = { rows, tasks: rows / RUNS_A_TASK };
    return [
      {
        figure: 'CPU of select over a million rows',
        bar: `< ${BAR_SECONDS} CPU-seconds`,
        target: null,
        measured: rounded(seconds, 1),
        unit: 's',
        holds: seconds < BAR_SECONDS,
        details: common,
      },
      {
        figure: 'memory of select over a million rows, peak',
        bar: `< ${BAR_GB} GB`,
        target: null,
        measured: gigabytes,
        unit: 'GB',
        holds: gigabytes < BAR_GB,
        details: common,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Rows as a probe writes them, in blocks of one task. */
function* probeRows(rows: number): Generator<string> {
  for (let task = 0; task < rows / RUNS_A_TASK; task++) {
    let block = '';
    for (let run = 0; run < RUNS_A_TASK; run++) {
      const success = (task * 7 + run * 13) % RUNS_A_TASK < task % (RUNS_A_TASK + 1);
      const row = {
        uid: `retail/case-${String(task).padStart(6, '0')}.py:test_case`,
        test_result: { result: success, reward: success ? 1 : 0 },
        metadata: { repetition: run, model: 'bench', tokens: 1_000 + task },
      };
      block += `${JSON.stringify(row)}\n`;
    }
    yield block;
  }
}

export const selectBench: Bench = {
  name: 'select',
  about: 'a million probe rows through `steadfast select`, about half a minute',
  run,
};
