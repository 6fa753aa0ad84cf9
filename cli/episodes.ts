/** `steadfast episodes`: attempts by campaign, task, outcome, termination or fault. */
import Table from 'cli-table3';
import { type Command, Option } from 'commander';
import { FAULT_KINDS, type FaultKind } from '../core/faults.js';
import type { Ledger } from '../core/ledger.js';
import type { AttemptFilter, FoundAttempt } from '../core/ledger-reads.js';
import { TERMINATIONS, type Termination } from '../core/outcome.js';
import { importedModel } from '../core/results/imported.js';
import { withStack } from './context.js';
import { print, printJson, say } from './output.js';
import { resolveCampaign } from './run/find.js';
import { integer } from './run/options.js';

interface EpisodesOptions {
  readonly task?: string;
  readonly step?: number;
  readonly outcome?: NonNullable<AttemptFilter['outcome']>;
  readonly termination?: Termination;
  readonly fault?: FaultKind;
  readonly limit: number;
  readonly offset: number;
  readonly json?: boolean;
}

const OUTCOMES = ['passed', 'failed', 'system_error', 'pending', 'exhausted', 'running'];

export function registerEpisodes(program: Command): void {
  program
    .command('episodes')
    .description('Find attempts; their keys are what `show` takes.')
    .argument('[campaign]', 'e.g. eval/demo-final; every campaign when absent')
    .option('--task <id>', 'of one task')
    .option('--step <n>', 'of one training step', integer(1))
    .addOption(new Option('--outcome <outcome>', 'how they ended').choices(OUTCOMES))
    .addOption(
      new Option('--termination <why>', 'why the conversation ended').choices(Object.keys(TERMINATIONS)),
    )
    .addOption(new Option('--fault <kind>', 'with such a system error').choices(Object.keys(FAULT_KINDS)))
    .option('--limit <n>', 'at most', integer(1), 30)
    .option('--offset <n>', 'after so many', integer(0), 0)
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast episodes eval/demo-final --outcome failed\n  $ steadfast episodes train/demo --step 3 --fault policy\n',
    )
    .action(async (campaign: string | undefined, options: EpisodesOptions) => {
      await withStack(async (context) => {
        const ledger = await context.ledger();
        const { json, task, ...rest } = options;
        const named = campaign === undefined ? undefined : await resolveCampaign(ledger, campaign);
        const found = await ledger.findAttempts({
          ...rest,
          ...(task === undefined ? {} : { taskId: task }),
          ...(named === undefined ? {} : { campaign: named.id }),
        });
        await sayImported(ledger, new Set(found.map((row) => row.campaign)));
        if (json) return printJson(found);
        print(found.length === 0 ? 'no such attempts' : tableOf(found));
        if (found.length === options.limit) say(`More: --offset ${options.offset + options.limit}`);
      });
    });
}

function tableOf(found: readonly FoundAttempt[]): string {
  const table = new Table({
    head: ['key', 'outcome', 'ended by', 'tries', 'tokens', 'seconds'],
    style: { head: [], border: [] },
  });
  for (const row of found) {
    table.push([
      row.key,
      outcomeOf(row),
      row.termination ?? row.fault ?? '',
      row.tries,
      row.usage?.policySampledTokens ?? '',
      row.wallMs === null ? '' : (row.wallMs / 1000).toFixed(2),
    ]);
  }
  return table.toString();
}

/** Rows that ran elsewhere are told apart from ours. */
async function sayImported(ledger: Ledger, campaigns: ReadonlySet<string>): Promise<void> {
  for (const id of campaigns) {
    const model = importedModel((await ledger.campaign(id))?.config);
    if (model) say(`${id} is imported from ${model.files.map(({ name }) => name).join(', ')}.`);
  }
}

function outcomeOf(row: FoundAttempt): string {
  if (row.state === 'clean') return row.passed ? 'passed' : 'failed';
  return row.running ? 'running' : row.state;
}
