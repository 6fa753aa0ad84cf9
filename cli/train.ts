/** `steadfast train`: GRPO on a fixed pool, one durable workflow a step. */
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import { readRunFile, readTaskList } from './run/files.js';
import { integer, LIMITS, runOptions, type StageOptions, stageOptions, withFlags } from './run/options.js';
import { chooseTasks, trainConfig } from './run/resolve.js';
import { runCampaign } from './run/stage.js';
import { withSuite } from './run/suite.js';

interface TrainOptions extends StageOptions {
  readonly steps?: number;
  readonly learningRate?: number;
}

export function registerTrain(program: Command): void {
  stageOptions(
    program
      .command('train')
      .description('Train on a pool of tasks. Run again under the same name, it goes on or is watched.')
      .argument('<name>', 'name of the run'),
  )
    .option('--steps <n>', 'steps in all', integer(1, LIMITS.steps))
    .option('--learning-rate <x>', 'learning rate of AdamW', positive)
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast train run-1 --tasks selected.yaml --steps 50\n  $ steadfast train run-1 --file run.yaml --tasks selected.yaml --dry-run\n',
    )
    .action(async (name: string, options: TrainOptions) => {
      const read = withFlags(await readRunFile(options.file), options, 'train');
      const file = {
        ...read,
        train: {
          ...read.train,
          ...(options.steps === undefined ? {} : { steps: options.steps }),
          plan: {
            ...read.train?.plan,
            ...(options.learningRate === undefined ? {} : { learningRate: options.learningRate }),
          },
        },
      };
      const config = await withSuite(file.suite, async (suite) => {
        const wanted = options.tasks ? await readTaskList(options.tasks) : 'train';
        return trainConfig(file, suite, await chooseTasks(suite, wanted));
      });
      await runCampaign(name, config, runOptions(file, options));
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new UsageError('--learning-rate', 'a positive number', `"${text}"`);
}
