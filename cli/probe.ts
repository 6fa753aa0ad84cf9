/** `steadfast probe`: every candidate n times, to see how hard it is for this policy; with a reference screen before. */
import type { Command } from 'commander';
import { screenedProbe } from '../activities/campaign/screen.js';
import type { AttemptsConfig } from '../core/campaign.js';
import { UsageError } from '../core/faults.js';
import { campaignId, LONGEST_NAME } from '../core/keys.js';
import type { RunFile } from '../core/schemas/run-file.js';
import { SELECTION_DEFAULTS } from '../core/selection/options.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { printJson, say } from './output.js';
import { readRunFile, readTaskList } from './run/files.js';
import { resolveModel } from './run/model.js';
import {
  integer,
  LIMITS,
  modelOptions,
  parseModel,
  type RunOptions,
  runOptions,
  type StageOptions,
  stageOptions,
  withFlags,
} from './run/options.js';
import { attemptsConfig, chooseTasks, refuseBenchmark, refuseGolden, spread } from './run/resolve.js';
import { runCampaign } from './run/stage.js';
import { withSuite } from './run/suite.js';
import { storeTokenizer } from './run/tokenizer.js';

interface ProbeOptions extends StageOptions {
  readonly screenModel?: string;
  readonly screenRepeat?: number;
  readonly screenAll?: boolean;
  readonly referenceMinCleanRuns?: number;
  readonly referenceMinSuccesses?: number;
}

/** Reference runs a task: those of the documented recipe. */
const SCREEN_REPEAT = 4;
const SUFFIX = '-reference';

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
    .option(
      '--screen-model <model>',
      'a stronger model tries every task first; those that it fails are left out',
    )
    .option(
      '--screen-repeat <n>',
      `attempts a task of the screen (${SCREEN_REPEAT})`,
      integer(1, LIMITS.repeat),
    )
    .option('--screen-all', 'probe the tasks too that fail the screen')
    .option(
      '--reference-min-clean-runs <n>',
      'clean screen runs that a task needs (1)',
      integer(0, LIMITS.repeat),
    )
    .option(
      '--reference-min-successes <n>',
      'screen successes that a task needs (1)',
      integer(0, LIMITS.repeat),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast probe base-1 --repeat 8\n  $ steadfast probe api --model https://host/v1#name --tasks mine.yaml\n  $ steadfast probe pool --screen-model https://host/v1#strong --screen-repeat 4 --reference-min-successes 1\n\nThe screen is a campaign of its own, NAME-reference; `select --campaign NAME` takes its rows as the reference.\n',
    )
    .action(async (name: string, options: ProbeOptions) => {
      const file = screenOf(withFlags(await readRunFile(options.file), options, 'probe'), options);
      const config = await withSuite(file.suite, async (suite) => {
        const tasks = options.tasks
          ? await chooseTasks(suite, await readTaskList(options.tasks))
          : spread(await chooseTasks(suite, 'train'), file.probe?.limit);
        await refuseBenchmark('probe tasks', suite, tasks);
        refuseGolden('model', suite, file.model);
        refuseGolden('screen.model', suite, file.screen?.model);
        return attemptsConfig('probe', file, suite, tasks);
      });
      const run = runOptions(file, options);
      if (file.screen) await runScreened(name, config, { ...file, screen: file.screen }, run);
      else await runCampaign(name, config, run);
    });
}

type Screen = NonNullable<RunFile['screen']>;

/** The run file with the flags of the screen that win over it. Throws `UsageError` for flags of a screen that has no model. */
function screenOf(file: RunFile, options: ProbeOptions): RunFile {
  const { screenModel, screenRepeat, screenAll, referenceMinCleanRuns, referenceMinSuccesses } = options;
  const flags = {
    ...(screenRepeat === undefined ? {} : { repeat: screenRepeat }),
    ...(screenAll ? { all: true } : {}),
    ...(referenceMinCleanRuns === undefined ? {} : { minCleanRuns: referenceMinCleanRuns }),
    ...(referenceMinSuccesses === undefined ? {} : { atLeast: referenceMinSuccesses }),
  };
  const model = screenModel === undefined ? file.screen?.model : parseModel(screenModel);
  if (model) return { ...file, screen: { ...file.screen, ...flags, model } };
  if (Object.keys(flags).length === 0) return file;
  throw new UsageError('screen', 'a model, with --screen-model or screen.model in the run file', 'none');
}

/** The screen, then the probe of what passes. Run again, both go on where they were. */
async function runScreened(
  name: string,
  config: AttemptsConfig,
  file: RunFile & { readonly screen: Screen },
  run: RunOptions,
): Promise<void> {
  const reference = await referenceConfig(name, config, file.screen);
  await storeProbeTokenizer(config, run);
  const { tokenizer: _probe, served: _served, ...rest } = run;
  const { model } = file.screen;
  const own = {
    ...(model.kind === 'token' && { tokenizer: model.tokenizer }),
    ...(model.kind === 'served' && { served: model }),
  };
  const row = await runCampaign(name + SUFFIX, reference, {
    ...rest,
    ...own,
    aside: !run.dryRun && !run.detach,
  });
  if (run.detach) say(`When it has ended, ${campaignId('probe', name)} begins by itself.`);
  if (row === undefined || row.state !== 'done') return;
  const { screened, config: probe } = await withStack(async (context) =>
    screenedProbe(await context.ledger(), row.id),
  );
  const { passed, failed, undecided } = screened;
  const open = undecided.length > 0 ? `, ${undecided.length} undecided` : '';
  say(
    `reference screen: ${passed.length} of ${reference.tasks.length} tasks passed, ${failed.length} failed${open}`,
  );
  if (probe !== null) {
    await runCampaign(name, probe, run);
    return;
  }
  if (run.json) printJson({ id: campaignId('probe', name), state: 'not started', screen: screened });
  if (undecided.length > 0) {
    say(
      `Attempts at ${undecided.slice(0, 5).join(', ')} met system errors: start it again, only those are run.`,
    );
    process.exitCode = EXIT.incomplete;
  } else {
    say('No task passed: there is nothing to probe. --screen-all probes them anyway, under another name.');
    process.exitCode = EXIT.failed;
  }
}

async function referenceConfig(
  name: string,
  config: AttemptsConfig,
  screen: Screen,
): Promise<AttemptsConfig> {
  const most = LONGEST_NAME - SUFFIX.length;
  if (name.length > most) {
    const expected = `at most ${most} characters, since its screen is named "...${SUFFIX}"`;
    throw new UsageError('probe name', expected, `${name.length}: "${name}"`);
  }
  const repeat = screen.repeat ?? SCREEN_REPEAT;
  const minCleanRuns = screen.minCleanRuns ?? SELECTION_DEFAULTS.referenceMinCleanRuns;
  const minSuccesses = screen.atLeast ?? SELECTION_DEFAULTS.referenceMinSuccesses;
  if (Math.max(minCleanRuns, minSuccesses) > repeat) {
    const found = `${minSuccesses} successes and ${minCleanRuns} clean runs of ${repeat}`;
    throw new UsageError('screen', 'no more than its attempts a task', found);
  }
  const screens = {
    ...{ probe: campaignId('probe', name), model: config.model, repeat: config.repeat },
    ...{ minCleanRuns, minSuccesses, all: screen.all ?? false },
  };
  return { ...config, model: await resolveModel(screen.model), repeat, screens };
}

/** The workers begin the probe by themselves: what it needs must be there before. */
async function storeProbeTokenizer(
  { model }: AttemptsConfig,
  { tokenizer, dryRun }: RunOptions,
): Promise<void> {
  if (tokenizer === undefined || model.kind !== 'token' || dryRun) return;
  await withStack(async (context) => storeTokenizer(await context.artifacts(), tokenizer, model.tokenizer));
}
