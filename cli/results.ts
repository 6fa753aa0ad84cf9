/** `steadfast results`: coverage and scores of JSON Lines that `tb infer` or `thinkingbox-eval` wrote. Read-only. */
import { type Command, InvalidArgumentError } from 'commander';

export interface ResultsFlags {
  readonly tests: string;
  readonly repeat: number;
  readonly keysOut?: string;
  readonly allowIncomplete?: boolean;
  readonly systemErrorsAsFailed?: boolean;
  readonly promptPrice?: number;
  readonly sampledPrice?: number;
  readonly json?: boolean;
}

export function registerResults(program: Command): void {
  const results = program
    .command('results')
    .description('check, summarize and compare result files of other runners');
  common(results.command('check'))
    .description(
      'name the keys that are missing, duplicate, unexpected or system errors; exit 3 when there are any',
    )
    .argument('<file...>', 'JSON Lines')
    .action(async (files: string[], flags: ResultsFlags) => {
      const { checkResults } = await import('./results-run.js');
      await checkResults(files, flags);
    });
  scores(common(results.command('summarize')))
    .description('scores of a complete evaluation: pass@1, pass@k, k/k, per domain, with intervals')
    .argument('<file...>', 'JSON Lines')
    .action(async (files: string[], flags: ResultsFlags) => {
      const { summarizeResults } = await import('./results-run.js');
      await summarizeResults(files, flags);
    });
  scores(common(results.command('compare')))
    .description('two evaluations of the same tasks, paired by task')
    .argument('<before>', 'JSON Lines')
    .argument('<after>', 'JSON Lines')
    .action(async (before: string, after: string, flags: ResultsFlags) => {
      const { compareResults } = await import('./results-run.js');
      await compareResults(before, after, flags);
    });
}

function common(command: Command): Command {
  return command
    .requiredOption('--tests <file>', 'the tasks that were to be run: a list of ids, YAML or JSON')
    .requiredOption('--repeat <count>', 'repetitions of each task', number)
    .option(
      '--keys-out <file>',
      'write every key that is wrong to this file; the terminal shows the first 20',
    )
    .option('--json', 'print one JSON document');
}

function scores(command: Command): Command {
  return command
    .option('--allow-incomplete', 'show scores although keys are missing; says so')
    .option('--system-errors-as-failed', 'score system errors 0; says so')
    .option('--prompt-price <dollars>', 'per million prompt tokens', number)
    .option('--sampled-price <dollars>', 'per million sampled tokens', number);
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('Expected a number.');
  return value;
}
