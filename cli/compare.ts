/** `steadfast compare A B ...`: evaluations, paired by task: what rose, what fell, and how surely; or two training runs. */
import type { Command } from 'commander';
import { namedRun, showRuns } from './compare-runs.js';
import { showComparison } from './compare-show.js';
import { type SideOptions, sideName } from './compare-sides.js';
import { withStack } from './context.js';
import { knownCampaign, resolveRun } from './run/find.js';
import { integer, LIMITS } from './run/options.js';
import { readPrices } from './run/prices.js';

interface CompareOptions {
  readonly out?: string;
  readonly json?: boolean;
  readonly episodes?: boolean;
  readonly tests?: string;
  readonly repeat?: number;
  readonly prices?: string;
  readonly allowIncomplete?: boolean;
  readonly systemErrorsAsFailed?: boolean;
}

export function registerCompare(program: Command): void {
  program
    .command('compare')
    .description(
      'Compare evaluations, paired by task, with intervals of the difference; or two training runs, step by step.',
    )
    .argument('<before>', 'e.g. eval/demo-base, demo-base, rows.jsonl or NAME=rows.jsonl')
    .argument('<after>', 'e.g. eval/demo-final, or a file of result rows')
    .argument('[more...]', 'further evaluations, each compared with the first')
    .option(
      '--out <path>',
      'also write it as one HTML file, and the conversations of moved tasks beside it; two training runs: a folder',
    )
    .option('--no-episodes', 'write no conversations')
    .option(
      '--prices <file>',
      'model → {promptPerMillion, sampledPerMillion}; a file of rows is known by its name',
    )
    .option('--tests <file>', 'for files of rows: the tasks that were to be run')
    .option('--repeat <n>', 'for files of rows: repetitions of each task', integer(1, LIMITS.repeat))
    .option('--allow-incomplete', 'scores of incomplete coverage too; says so wherever one is shown')
    .option('--system-errors-as-failed', 'for files of rows: score system errors 0; says so')
    .option('--json', 'print the comparison as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast compare demo-base demo-final\n  $ steadfast compare demo-base demo-final --out /tmp/comparison.html\n  $ steadfast compare base=before.jsonl tuned=after.jsonl --tests tests.yaml --repeat 20 --prices prices.yaml\n  $ steadfast compare train/run-1 train/run-1-slow --out /tmp/runs\n\nExit code 3: one of them is incomplete.\n',
    )
    .action(compare);
}

async function compare(
  beforeName: string,
  afterName: string,
  more: readonly string[],
  options: CompareOptions,
): Promise<void> {
  const names = [beforeName, afterName, ...more].map(sideName);
  const sides: SideOptions = {
    ...(options.tests === undefined ? {} : { tests: options.tests }),
    ...(options.repeat === undefined ? {} : { repeat: options.repeat }),
    prices: options.prices === undefined ? null : await readPrices(options.prices),
    allowIncomplete: options.allowIncomplete ?? false,
    systemErrorsAsFailed: options.systemErrorsAsFailed ?? false,
  };
  if (names.every(({ kind }) => kind === 'files')) return showComparison(names, sides, options, null);
  await withStack(async (context) => {
    if (more.length === 0 && names.every(({ kind }) => kind === 'campaign')) {
      const ledger = await context.ledger();
      const runs = [await namedRun(ledger, beforeName), await namedRun(ledger, afterName)];
      if (runs[0] && runs[1]) return showRuns(ledger, [runs[0], runs[1]], options);
      // Beside a training run an unknown name was meant to be one.
      const other = runs[0] ? afterName : beforeName;
      if ((runs[0] ?? runs[1]) && !(await knownCampaign(ledger, other))) await resolveRun(ledger, other);
    }
    return showComparison(names, sides, options, context);
  });
}
