/** `steadfast compare A B`: two evaluations, paired by task: what rose, what fell, and how surely; or two training runs. */
import path from 'node:path';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { type ComparisonData, verdict } from '../activities/report/comparison.js';
import { interval, percent, plural, points } from '../activities/report/format.js';
import { UsageError } from '../core/faults.js';
import type { Estimate, EvaluationReport, ScoreLine } from '../core/report-data.js';
import { requireRoom } from '../infra/setup/disk.mjs';
import { compareRuns, namedRun, type RunComparison, runsText } from './compare-runs.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { resolveEvaluation } from './run/find.js';

interface CompareOptions {
  readonly out?: string;
  readonly json?: boolean;
}

const TASKS_SHOWN = 10;

export function registerCompare(program: Command): void {
  program
    .command('compare')
    .description(
      'Compare two evaluations, paired by task, with intervals of the difference; or two training runs, step by step.',
    )
    .argument('<before>', 'e.g. eval/demo-base, or demo-base')
    .argument('<after>', 'e.g. eval/demo-final')
    .option('--out <file.html>', 'also write it as one HTML file that opens from disk')
    .option('--json', 'print the comparison as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast compare demo-base demo-final\n  $ steadfast compare demo-base demo-final --out /tmp/comparison.html\n  $ steadfast compare train/run-1 train/run-1-slow\n\nExit code 3: one of the two is incomplete, and nothing is compared.\n',
    )
    .action(compare);
}

async function compare(beforeName: string, afterName: string, options: CompareOptions): Promise<void> {
  const { collectComparison } = await import('../activities/report/collect/comparison.js');
  const html = options.out === undefined ? null : path.resolve(options.out);
  if (html !== null) requireRoom(path.dirname(html), 1, 'the comparison');
  await withStack(async (context) => {
    const ledger = await context.ledger();
    const runs = [await namedRun(ledger, beforeName), await namedRun(ledger, afterName)];
    if (runs[0] && runs[1]) return showRuns(await compareRuns(ledger, runs[0], runs[1]), options);
    const [before, after] = [
      await resolveEvaluation(ledger, beforeName),
      await resolveEvaluation(ledger, afterName),
    ];
    const data = await collectComparison(
      { ledger, artifacts: await context.artifacts() },
      before.id,
      after.id,
    );
    if (html !== null) await writeHtml(html, data);
    if (options.json) printJson({ ...data, html });
    else print(comparisonText(data).join('\n'));
    for (const warning of data.warnings) say(`warning: ${warning}`);
    if (html !== null) say(`written: ${html}`);
    if (!data.before.coverage.complete || !data.after.coverage.complete) process.exitCode = EXIT.incomplete;
  });
}

function showRuns(comparison: RunComparison, { json, out }: CompareOptions): void {
  if (out !== undefined) {
    throw new UsageError(
      '--out',
      'two evaluations',
      'two training runs',
      'See each run: steadfast report RUN',
    );
  }
  if (json) printJson(comparison);
  else print(runsText(comparison));
}

async function writeHtml(file: string, data: ComparisonData): Promise<void> {
  const { renderComparison } = await import('../activities/report/comparison.js');
  const { replaceFile } = await import('../activities/report/metrics-jsonl.js');
  await replaceFile(file, renderComparison(data));
}

function comparisonText(data: ComparisonData): string[] {
  const { before, after, paired } = data;
  const table = new Table({
    head: ['', before.id, after.id, ...(paired ? ['difference'] : [])],
    style: { head: [], border: [] },
  });
  for (const label of labels(before, after)) {
    const [from, to] = [lineOf(before, label), lineOf(after, label)];
    // Differences have intervals over all tasks only.
    const all = (from ?? to)?.kind === 'all' ? paired : null;
    const difference = (estimate: Estimate | undefined) =>
      paired ? [estimate ? differenceText(estimate) : ''] : [];
    table.push(
      [`${label}: pass@1`, cell(from?.passAt1), cell(to?.passAt1), ...difference(all?.passAt1)],
      [
        `${label}: ${after.k}/${after.k}`,
        cell(from?.observedK),
        cell(to?.observedK),
        ...difference(all?.observedK),
      ],
    );
  }
  return [
    ...(table.length === 0 ? [] : [table.toString()]),
    verdict(data),
    ...coverageLines(before, after),
    ...(paired
      ? [
          `${plural(paired.improved, 'task')} rose, ${paired.worsened} fell, ${paired.unchanged} stayed.`,
          listed('became dependable', paired.gained),
          listed('no longer dependable', paired.lost),
        ]
      : []),
  ];
}

/** The whole first, then the parts in the order of the newer evaluation. */
function labels(before: EvaluationReport, after: EvaluationReport): readonly string[] {
  return [...new Set([...(after.scores ?? []), ...(before.scores ?? [])].map(({ label }) => label))];
}

function lineOf({ scores }: EvaluationReport, label: string): ScoreLine | undefined {
  return scores?.find((line) => line.label === label);
}

function cell(estimate: Estimate | undefined): string {
  if (!estimate) return '–';
  const bounds = interval(estimate);
  return `${percent(estimate.value)}${bounds ? ` [${bounds}]` : ''}`;
}

function differenceText({ value, low, high }: Estimate): string {
  return low === null || high === null ? points(value) : `${points(value)} [${points(low)}, ${points(high)}]`;
}

function coverageLines(...sides: readonly EvaluationReport[]): string[] {
  return sides
    .filter(({ coverage }) => !coverage.complete)
    .map(
      ({ id, coverage }) =>
        `${id}: ${coverage.clean} of ${coverage.planned} attempts are clean; start it again, only what is missing runs.`,
    );
}

function listed(what: string, tasks: readonly string[]): string {
  const more = tasks.length > TASKS_SHOWN ? ` and ${tasks.length - TASKS_SHOWN} more` : '';
  return `${what} (${tasks.length}): ${tasks.slice(0, TASKS_SHOWN).join(', ') || 'none'}${more}`;
}
