/** `steadfast replay step` and `replay episode`: what is recorded, again. */
import { type Command, InvalidArgumentError } from 'commander';
import { LANES } from '../temporal.config.js';
import { EXIT } from './exit.js';
import { integer, LIMITS } from './run/options.js';

export interface StepOptions {
  readonly run: string;
  readonly step: number;
  readonly fork?: string;
  readonly set: readonly string[];
  readonly acceptDrift?: boolean;
  readonly mend?: boolean;
  readonly trainer?: string;
  readonly lanes: number;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export interface EpisodeOptions {
  readonly acceptDrift?: boolean;
  readonly json?: boolean;
}

const STEP_HELP = `
A finished step is computed again in a trainer of its own and compared: identical (exit 0) or the first difference (1).
A step that failed keeps every clean episode; only what is missing runs, then the update (exit 0 when it is done).
With --fork a new run begins in the state before the step and trains on its recorded episodes under other settings.

Examples:
  $ steadfast replay step --run run-1 --step 12
  $ steadfast replay step --run run-1 --step 12 --fork run-1-slow --set plan.learningRate=0.0001
`;

export function registerReplay(program: Command): void {
  const replay = program
    .command('replay')
    .description('A recorded step or episode again: compared, finished, or forked.');
  replay
    .command('step')
    .description('One training step again.')
    .requiredOption('--run <run>', 'e.g. train/run-1, or run-1')
    .requiredOption('--step <n>', 'number of the step', integer(1, LIMITS.steps))
    .option('--fork <name>', 'start a new run from the state before the step, on its recorded episodes')
    .option('--set <path=value>', 'with --fork: another setting; may be given again', gathered, [])
    .option('--accept-drift', 'go on although suite or trainer have changed; recorded with the run')
    .option('--mend', 'write batches that are missing or damaged again, from their recorded episodes')
    .option('--trainer <url>', 'an idle trainer to use instead of a private one', url)
    .option('--lanes <n>', 'with --fork: episodes in flight', integer(1, LIMITS.lanes), LANES)
    .option('--detach', 'with --fork: start it and return')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', STEP_HELP)
    .action(async (options: StepOptions) => {
      process.exitCode = await (await import('./replay/step.js')).replayStepVerb(options);
    });
  replay
    .command('episode')
    .description(
      "One episode's recorded tool calls on a fresh backend, and its outputs through today's interpreter.",
    )
    .argument('<key...>', 'the key as `episodes` prints it; quotes are not needed')
    .option('--accept-drift', 'go on although the suite has changed')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ steadfast replay episode eval/demo-final · retail:refund-07 · 3\n\nExit code 1: something came out otherwise.\n',
    )
    .action(async (words: readonly string[], options: EpisodeOptions) => {
      const { replayEpisodeVerb } = await import('./replay/episode.js');
      process.exitCode = (await replayEpisodeVerb(words.join(' '), options)) ? EXIT.ok : EXIT.failed;
    });
}

function gathered(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function url(text: string): string {
  if (/^https?:\/\//.test(text)) return text;
  throw new InvalidArgumentError('Expected an address, e.g. http://127.0.0.1:8600.');
}
