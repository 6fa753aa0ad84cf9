/**
 * `results` and `compare` over a whole evaluation as a runner writes it: 10,140 rows of about 185 kB, 1.9 GB, made on the
 * spot. Each command is a process of its own; memory is the most that it held resident.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireRoom } from '../../infra/setup/disk.mjs';
import { ROOT } from '../../infra/setup/root.mjs';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { writePaper, writeRows } from './paper-rows.js';
import { watched } from './watched.js';

const ROW_CHARACTERS = 183_000;
const BAR_SECONDS = 60;
const BAR_GB = 0.5;

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'steadfast-bench-results-'));
  try {
    requireRoom(folder, 4_000, 'the rows of the benchmark');
    const paper = await writePaper(folder);
    const file = join(folder, 'large.jsonl');
    await writeRows(file, 'after', quick ? 2_000 : ROW_CHARACTERS);
    const { size } = statSync(file);
    say(`  ${rounded(size / 1e9)} GB of rows are written`);
    const prices = join(folder, 'all.json');
    await writeFile(prices, JSON.stringify({ '*': { promptPerMillion: 0.4, sampledPerMillion: 1.6 } }));
    const list = ['--tests', paper.tests, '--repeat', '20'];
    const commands = {
      'results check': ['results', 'check', file, ...list],
      'results summarize': ['results', 'summarize', file, ...list, '--prices', prices],
      'compare, with its page and conversations': [
        ...['compare', `before=${paper.before}`, `after=${file}`, ...list],
        ...['--prices', prices, '--out', join(folder, 'comparison.html')],
      ],
    };
    const figures: Figure[] = [];
    for (const [name, args] of Object.entries(commands)) {
      const { seconds, bytes } = await watched([join(ROOT, 'cli', 'steadfast.mjs'), ...args]);
      const details = { rows: 10_140, fileGb: rounded(size / 1e9) };
      figures.push(
        {
          figure: `CPU of ${name}, 10,140 rows of 185 kB`,
          bar: `< ${BAR_SECONDS} CPU-seconds`,
          target: null,
          measured: rounded(seconds, 1),
          unit: 's',
          holds: seconds < BAR_SECONDS,
          details,
        },
        {
          figure: `memory of ${name}, 10,140 rows of 185 kB, peak`,
          bar: `< ${BAR_GB} GB`,
          target: null,
          measured: rounded(bytes / 1e9),
          unit: 'GB',
          holds: bytes < BAR_GB * 1e9,
          details,
        },
      );
    }
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const resultsBench: Bench = {
  name: 'results',
  about: '1.9 GB of result rows through `results check`, `summarize` and `compare`, about two minutes',
  run,
};
