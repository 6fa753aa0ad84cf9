/** `steadfast probe`: every candidate n times, to see how hard it is for this policy. */
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

export function registerProbe(program: Command): void {
  modelOptions(
    stageOptions(
      program
        .command('probe')
        .description('Try every candidate task n times. The rows are what `select` reads.')
        .argument('<name>', 'name of the campaign'),
    ),
  )
    .option('--repeat <n>', 'attempts a task', integer(1, LIMITS.repeat))
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast probe base-1 --repeat 8\n  $ steadfast probe api --model https://host/v1#name --tasks mine.yaml\n',
    )
    .action(async (name: string, options: StageOptions) => {
      const file = withFlags(await readRunFile(options.file), options, 'probe');
      const config = await withSuite(file.suite, async (suite) => {
        const tasks = options.tasks
          ? await chooseTasks(suite, await readTaskList(options.tasks))
          : spread(await chooseTasks(suite, 'train'), file.probe?.limit);
        return attemptsConfig('probe', file, suite, tasks);
      });
      await runCampaign(name, config, runOptions(file, options));
    });
}
