/** `steadfast results`: JSON Lines that `tb infer` or `thinkingbox-eval` wrote: coverage, scores, comparison, import. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { TERMINATIONS } from '../core/outcome.js';
import type { ImportFlags } from './results-import.js';
import { integer, LIMITS } from './run/options.js';

export interface ResultsFlags {
  readonly tests: string;
  readonly repeat: number;
  readonly keysOut?: string;
  readonly allowIncomplete?: boolean;
  readonly systemErrorsAsFailed?: boolean;
  readonly prices?: string;
  readonly model?: string;
  readonly promptPrice?: number;
  readonly sampledPrice?: number;
  readonly json?: boolean;
}

export interface CompareFlags extends ResultsFlags {
  readonly out?: string;
  readonly episodes?: boolean;
}

export function registerResults(program: Command): void {
  const results = program
    .command('results')
    .description(
      'check, summarize, compare and import result files of other runners (JSON Lines, also gzipped)',
    )
    .addHelpText(
      'after',
      '\nA row is known by the base name of its case file, a colon, the name of the case, and its repetition. Exit codes: 0 clean, 3 missing, duplicate, unexpected or system-error keys, 2 input that cannot be read.\n',
    );
  keys(common(results.command('check')))
    .description(
      'name the keys that are missing, duplicate, unexpected or system errors; exit 3 when there are any',
    )
    .argument('<file...>', 'JSON Lines')
    .action(async (files: string[], flags: ResultsFlags) => {
      const { checkResults } = await import('./results-run.js');
      await checkResults(files, flags);
    });
  scores(keys(common(results.command('summarize'))))
    .description('scores of a complete evaluation: pass@1, pass@k, pass^k, k/k, per domain, with intervals')
    .argument('<file...>', 'JSON Lines')
    .option('--model <name>', 'whose price in --prices is meant')
    .action(async (files: string[], flags: ResultsFlags) => {
      const { summarizeResults } = await import('./results-run.js');
      await summarizeResults(files, flags);
    });
  scores(common(results.command('compare')))
    .description('evaluations of the same tasks, paired by task; like `steadfast compare` of files')
    .argument('<before>', 'JSON Lines, or NAME=FILE[,FILE]')
    .argument('<after>', 'the same')
    .argument('[more...]', 'further evaluations, each compared with the first')
    .option(
      '--out <file.html>',
      'also write it as one HTML file, and the conversations of moved tasks beside it',
    )
    .option('--no-episodes', 'write no conversations')
    .action(async (before: string, after: string, more: string[], flags: CompareFlags) => {
      const { compareResults } = await import('./results-run.js');
      await compareResults([before, after, ...more], flags);
    });
  keys(common(results.command('import')))
    .description('make a campaign of the ledger of them; again, it adds nothing')
    .argument('<file...>', 'JSON Lines')
    .requiredOption('--name <name>', 'the campaign is eval/NAME')
    .requiredOption('--model <name>', 'what reports and price tables call the model')
    .option('--suite <name>', 'the suite that the tasks are of', 'thinkingbox')
    .addOption(
      new Option(
        '--other-endings-as <ending>',
        'how rows are recorded that ended for a reason of their own; refused when absent',
      ).choices(Object.keys(TERMINATIONS)),
    )
    .option('--system-errors-as-failed', 'score system errors 0; says so')
    .addHelpText(
      'after',
      '\nExample:\n  $ steadfast results import before.jsonl --name base --model gpt-x --tests tests.yaml --repeat 20\n',
    )
    .action(async (files: string[], flags: ImportFlags) => {
      const { runImport } = await import('./results-import.js');
      await runImport(files, flags);
    });
}

function common(command: Command): Command {
  return command
    .requiredOption('--tests <file>', 'the tasks that were to be run: a list of ids, YAML or JSON')
    .requiredOption('--repeat <count>', 'repetitions of each task', integer(1, LIMITS.repeat))
    .option('--json', 'print one JSON document');
}

function keys(command: Command): Command {
  return command.option(
    '--keys-out <file>',
    'write every key that is wrong to this file; the terminal shows the first 20 of a kind',
  );
}

function scores(command: Command): Command {
  return command
    .option('--allow-incomplete', 'show scores although keys are missing; says so')
    .option('--system-errors-as-failed', 'score system errors 0; says so')
    .option('--prices <file>', 'model → {promptPerMillion, sampledPerMillion}, or a run file with `prices:`')
    .option('--prompt-price <dollars>', 'per million prompt tokens, of every model', dollars)
    .option('--sampled-price <dollars>', 'per million sampled tokens, of every model', dollars);
}

function dollars(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('Expected dollars, from 0.');
}
