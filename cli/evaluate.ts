/** `steadfast evaluate`: tasks × repetitions, resumable, with a score only when coverage is complete. */
import type { Command } from 'commander';
import { readRunFile, readTaskList } from './run/files.js';
import {
  integer,
  LIMITS,
  modelOptions,
  runOptions,
  type StageOptions,
  stageOptions,
  withFlags,
} from './run/options.js';
import { attemptsConfig, chooseTasks, spread } from './run/resolve.js';
import { runCampaign } from './run/stage.js';
import { withSuite } from './run/suite.js';

interface EvaluateOptions extends StageOptions {
  readonly exhaustedAsFailed?: boolean;
  readonly allowIncomplete?: boolean;
}

export function registerEvaluate(program: Command): void {
  modelOptions(
    stageOptions(
      program
        .command('evaluate')
        .description('Run the benchmark, every task n times. Run again, only what is missing is run.')
        .argument('<name>', 'name of the evaluation'),
    ),
  )
    .option('--repeat <n>', 'attempts a task', integer(1, LIMITS.repeat))
    .option('--exhausted-as-failed', 'score attempts 0 whose every try met a system error, and say so')
    .option(
      '--allow-incomplete',
      'when it has ended, scores of incomplete coverage too; says so beside every one',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast evaluate night --model demo@latest\n  $ steadfast evaluate tb --suite thinkingbox --tasks examples/thinkingbox-five.yaml --repeat 2 --model https://host/v1#name\n\nExit code 3: coverage is incomplete, and without --allow-incomplete no score is shown.\n',
    )
    .action(async (name: string, options: EvaluateOptions) => {
      const read = withFlags(await readRunFile(options.file), options, 'benchmark');
      const file = options.exhaustedAsFailed
        ? { ...read, benchmark: { ...read.benchmark, exhaustedAsFailed: true } }
        : read;
      const config = await withSuite(file.suite, async (suite) => {
        const tasks = options.tasks
          ? await chooseTasks(suite, await readTaskList(options.tasks))
          : spread(await chooseTasks(suite, 'benchmark'), file.benchmark?.limit);
        return attemptsConfig('eval', file, suite, tasks);
      });
      await runCampaign(name, config, {
        ...runOptions(file, options),
        ...(options.allowIncomplete ? { allowIncomplete: true } : {}),
      });
    });
}
