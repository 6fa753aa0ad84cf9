/** `steadfast compare` of two training runs: what was set otherwise, their steps side by side, and where they part. */
import path from 'node:path';
import Table from 'cli-table3';
import { metricText } from '../activities/report/metric-text.js';
import { compareRuns, type RunComparison, type RunSide } from '../activities/report/runs/compare.js';
import { parting, relation } from '../activities/report/runs/words.js';
import { UsageError } from '../core/faults.js';
import { describeChanges } from '../core/fingerprint.js';
import type { CampaignRow, Ledger } from '../core/ledger.js';
import type { StepMetric } from '../core/step-metrics.js';
import { requireRoom } from '../infra/setup/disk.mjs';
import { print, printJson, say } from './output.js';
import { programVersion } from './version.js';

const SHOWN: readonly StepMetric[] = [
  'reward',
  'zeroVarianceShare',
  'loss',
  'gradNorm',
  'entropy',
  'klToBase',
];

/** The run that a name means where no evaluation has it. */
export async function namedRun(ledger: Ledger, name: string): Promise<CampaignRow | undefined> {
  const bare = name.slice(name.indexOf('/') + 1);
  const named = name.includes('/') ? await ledger.campaign(name) : await ledger.campaign(`eval/${bare}`);
  if (named) return named.kind === 'train' ? named : undefined;
  return name.includes('/') ? undefined : ledger.campaign(`train/${bare}`);
}

interface ShowOptions {
  readonly out?: string;
  readonly json?: boolean;
}

/** As text or JSON; with `--out FOLDER` also as a page and as Markdown. */
export async function showRuns(
  ledger: Ledger,
  runs: readonly [CampaignRow, CampaignRow],
  { json, out }: ShowOptions,
): Promise<void> {
  const folder = out === undefined ? undefined : folderOf(out);
  const comparison = await compareRuns(ledger, ...runs);
  const files = folder === undefined ? [] : await writeFiles(folder, comparison);
  if (json) printJson({ ...comparison, files });
  else print(runsText(comparison));
  for (const file of files) say(`written: ${file}`);
}

function folderOf(out: string): string {
  if (/\.(html?|md)$/i.test(out)) {
    const near = out.replace(/\.[^.]+$/, '');
    throw new UsageError('--out', 'a folder, for two training runs', `"${out}"`, `Try: --out ${near}`);
  }
  const folder = path.resolve(out);
  requireRoom(folder, 1, 'the comparison');
  return folder;
}

async function writeFiles(folder: string, comparison: RunComparison): Promise<readonly string[]> {
  const { renderRunComparison } = await import('../activities/report/runs/page.js');
  const { runComparisonMarkdown } = await import('../activities/report/runs/markdown.js');
  const { replaceFile } = await import('../activities/report/metrics-jsonl.js');
  const writing = { programVersion: programVersion(), generatedAt: new Date().toISOString() };
  const texts: readonly (readonly [string, string])[] = [
    ['comparison.html', renderRunComparison(comparison, writing)],
    ['comparison.md', runComparisonMarkdown(comparison, writing)],
  ];
  for (const [name, text] of texts) await replaceFile(path.join(folder, name), text);
  return texts.map(([name]) => path.join(folder, name));
}

function runsText(comparison: RunComparison): string {
  const { changes, steps } = comparison;
  const table = new Table({
    head: ['step', ...SHOWN, 'weights'],
    style: { head: [], border: [] },
  });
  const cells = ({ metrics }: RunSide, name: StepMetric) => metricText(name, metrics[name]);
  for (const pair of steps) {
    const label = [pair.before, pair.after].map((side) => (side ? sideLabel(side) : '–')).join('\n');
    const both = (of: (side: RunSide) => string) =>
      [pair.before, pair.after].map((side) => (side ? of(side) : '')).join('\n');
    table.push([
      label,
      ...SHOWN.map((name) => both((side) => cells(side, name))),
      both(({ weightDigest }) => short(weightDigest)),
    ]);
  }
  return [
    `${relation(comparison)} ${changes.length} settings differ:`,
    ...describeChanges(changes)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `  ${line}`),
    table.toString(),
    parting(comparison),
  ].join('\n');
}

function sideLabel({ id, step, stepState }: RunSide): string {
  return `${id} ${step}${stepState === 'done' ? '' : ` (${stepState})`}`;
}

function short(digest: string | null): string {
  return digest?.replace('sha256:', '').slice(0, 10) ?? '–';
}
