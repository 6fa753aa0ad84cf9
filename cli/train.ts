/** `steadfast train`: GRPO on a fixed pool, one durable workflow a step. */
import { basename, extname } from 'node:path';
import { type Command, Option } from 'commander';
import type { TrainConfig } from '../core/campaign.js';
import type { ClusterRecord } from '../core/cluster-record.js';
import { UsageError } from '../core/faults.js';
import type { RunFile } from '../core/schemas/run-file.js';
import { startableId } from '../core/stage-configs.js';
import type { Suite } from '../core/suite.js';
import { withStack } from './context.js';
import { type DryRunOptions, SHOWN } from './preflight/shown.js';
import { readRunFile, readTaskList } from './run/files.js';
import { integer, LIMITS, runOptions, type StageOptions, stageOptions, withFlags } from './run/options.js';
import { chooseTasks, trainConfig, uncheckedTrainConfig } from './run/resolve.js';
import { runCampaign } from './run/stage.js';
import { withSuite } from './run/suite.js';

interface TrainOptions extends StageOptions, DryRunOptions {
  readonly steps?: number;
  readonly learningRate?: number;
  readonly offline?: boolean;
}

export function registerTrain(program: Command): void {
  stageOptions(
    program
      .command('train')
      .description('Train on a pool of tasks. Run again under the same name, it goes on or is watched.')
      .argument('[name]', 'name of the run; the run file’s own unless given'),
  )
    .option('--steps <n>', 'steps in all', integer(1, LIMITS.steps))
    .option('--learning-rate <x>', 'learning rate of AdamW', positive)
    .option(
      '--offline',
      'with --dry-run, and before a job of Verl: ask no simulated user, judge or search server',
    )
    .addOption(new Option('--show <part>', 'with --dry-run: print this part alone').choices(SHOWN))
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast train run-1 --tasks selected.yaml --steps 50\n  $ steadfast train --file run.yaml --dry-run\n  $ diff <(steadfast train --file a.yaml --dry-run --show verl) <(steadfast train --file b.yaml --dry-run --show verl)\n',
    )
    .action(async (given: string | undefined, options: TrainOptions) => {
      const name = given ?? nameOfFile(options.file);
      const file = await runFile(options);
      if (options.dryRun) {
        await withSuite(file.suite, (suite) => dryRun(name, file, suite, options));
        return;
      }
      const config = await withSuite(file.suite, async (suite) =>
        trainConfig(file, suite, await chooseTasks(suite, await wantedTasks(file, options))),
      );
      const cluster = await requireChecked(name, file, config, options);
      await runCampaign(name, config, {
        ...runOptions(file, options),
        ...(cluster ? { found: { cluster } } : {}),
      });
    });
}

async function runFile(options: TrainOptions): Promise<RunFile> {
  const read = withFlags(await readRunFile(options.file), options, 'train');
  return {
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
}

/** The pool as it was asked for. */
async function wantedTasks(file: RunFile, options: TrainOptions): Promise<'train' | readonly string[]> {
  const list = options.tasks ?? file.train?.tasks;
  return list === undefined ? 'train' : readTaskList(list);
}

/**
 * A job that fails costs a cluster: every check of the dry run holds before it is started for the first time. Later the
 * run itself sees to what it has left in its folders. Returns what was found of its hosts.
 */
async function requireChecked(
  name: string,
  file: RunFile,
  config: TrainConfig,
  { offline = false }: TrainOptions,
): Promise<ClusterRecord | undefined> {
  if (config.trainer?.kind !== 'verl') return undefined;
  const id = startableId(name, config);
  const known = await withStack(async (context) => (await context.ledger()).campaign(id));
  if (known) return undefined;
  const { refuseProblems } = await import('./preflight/dry-run.js');
  return withSuite(file.suite, (suite) =>
    refuseProblems({ id, file, config, suite, pool: config.tasks, offline }),
  );
}

async function dryRun(name: string, file: RunFile, suite: Suite, options: TrainOptions): Promise<void> {
  const { trainDryRun } = await import('./preflight/dry-run.js');
  const wanted = await wantedTasks(file, options);
  // Ids that the suite does not know are one problem among others.
  const pool = wanted === 'train' ? await chooseTasks(suite, wanted) : wanted;
  const config = uncheckedTrainConfig(file, suite, pool);
  const id = startableId(name, config);
  const { offline = false } = options;
  await trainDryRun({ id, file, config, suite, pool, offline }, options);
}

/** `runs/q38.yaml` is of the run `q38`. */
function nameOfFile(file: string | undefined): string {
  if (file !== undefined) return basename(file, extname(file));
  throw new UsageError('train', 'a name, or a run file that has one', 'neither');
}

function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new UsageError('--learning-rate', 'a positive number', `"${text}"`);
}
