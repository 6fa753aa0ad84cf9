/**
 * `steadfast demo`: the whole pipeline on this machine. Starts the stack, probes, selects, evaluates the base, trains,
 * evaluates again, writes the report and stops the stack. Interrupted at any moment, the same command goes on.
 */
import path from 'node:path';
import type { Command } from 'commander';
import pc from 'picocolors';
import type { CampaignConfig } from '../core/campaign.js';
import { campaignId } from '../core/keys.js';
import type { RunFile } from '../core/schemas/run-file.js';
import { placeOf } from '../core/sharing.js';
import { startableId } from '../core/stage-configs.js';
import type { Suite } from '../core/suite.js';
import { homeFolder } from '../infra/setup/root.mjs';
import { hold, leaveStack, otherHolders } from '../infra/stack/holders.js';
import { readState, type StackInfo } from '../infra/stack/info.js';
import { StartInterrupted, startStack } from '../infra/stack/start.js';
import { killStack } from '../infra/stack/stop.js';
import { openStack } from './context.js';
import { sendUpdate } from './control.js';
import { EXIT } from './exit.js';
import { onInterrupt } from './interrupts.js';
import { outliveClosedPipe, print, printJson, say } from './output.js';
import { endText } from './run/ending.js';
import { readRunFile } from './run/files.js';
import { launch } from './run/launch.js';
import { integer, LIMITS } from './run/options.js';
import { declareProviders } from './run/providers.js';
import { DEFAULT_SUITE, pipelineConfig } from './run/resolve.js';
import { exitCodeOf, workflowUrl } from './run/stage.js';
import { endSandboxes } from './run/sweep-once.js';
import { watch } from './run/watch.js';
import { progressLines } from './up.js';

interface DemoOptions {
  readonly name: string;
  readonly seed: number;
  readonly steps: number;
  readonly probes: number;
  readonly repeat: number;
  readonly lanes: number;
  readonly file?: string;
  readonly keepUp?: boolean;
  readonly json?: boolean;
}

/** A learning rate for 0.37 million parameters, not for 27 billion; measured in native/trainer/README.md. */
const LEARNING_RATE = 4.5e-4;
/** This pool is small and soon solved: a long run goes on with what is left of it until nothing is. */
const MIN_INFORMATIVE = 1;
/** What a hosted model of middle size costs, dollars per million tokens: an example, replaced by `prices:` of a run file. */
const EXAMPLE_PRICES = { '*': { promptPerMillion: 0.5, sampledPerMillion: 2 } };

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'Probe, select, train and evaluate a small policy on this machine, with a report. Run again to resume.',
    )
    .option('--name <name>', 'name of the run; another name starts afresh', 'demo')
    .option('--seed <n>', 'seed', integer(0), 1)
    .option('--steps <n>', 'training steps', integer(1, LIMITS.steps), 15)
    .option('--probes <n>', 'attempts a candidate before training', integer(1, LIMITS.repeat), 8)
    .option('--repeat <n>', 'attempts a benchmark task, before and after', integer(1, LIMITS.repeat), 20)
    .option('--lanes <n>', 'episodes in flight', integer(1, LIMITS.lanes), 48)
    .option('--file <run.yaml>', 'run file; flags win over it, and it over their defaults')
    .option('--keep-up', 'leave the stack running at the end')
    .option('--json', 'print the result as one JSON document')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast demo\n  $ steadfast demo --name seed-2 --seed 2\n  $ steadfast demo --name long --steps 50 --keep-up\n\nCtrl-C stops the stack cleanly; the same command goes on where committed rows end.\n',
    )
    .action((options: DemoOptions, command: Command) => demo(options, command));
}

type NumberOption = 'seed' | 'steps' | 'probes' | 'repeat' | 'lanes';

/** What was typed wins over the run file, and the run file over the defaults of this verb. */
function withDefaults(file: RunFile, options: DemoOptions, command: Command): RunFile & { lanes: number } {
  const choose = (name: NumberOption, inFile: number | undefined): number => {
    const own = options[name];
    return command.getOptionValueSource(name) === 'cli' ? own : (inFile ?? own);
  };
  return {
    ...file,
    seed: choose('seed', file.seed),
    lanes: choose('lanes', file.lanes),
    probe: { ...file.probe, repeat: choose('probes', file.probe?.repeat) },
    benchmark: { ...file.benchmark, repeat: choose('repeat', file.benchmark?.repeat) },
    prices: file.prices ?? EXAMPLE_PRICES,
    train: {
      ...file.train,
      steps: choose('steps', file.train?.steps),
      plan: { learningRate: LEARNING_RATE, ...file.train?.plan },
      shape: { minInformative: MIN_INFORMATIVE, ...file.train?.shape },
    },
  };
}

async function demo(options: DemoOptions, command: Command): Promise<void> {
  const id = campaignId('pipeline', options.name);
  const file = withDefaults(await readRunFile(options.file), options, command);
  const config = await pipelineConfig(file, await openSuite(file.suite));
  startableId(options.name, config);

  outliveClosedPipe();
  const controller = new AbortController();
  const { signal } = controller;
  const restore = onInterrupt(() => {
    say('\nLeaving; press Ctrl-C again to kill the stack.');
    controller.abort();
  }, kill);
  let outcome: Outcome | undefined;
  let others: readonly string[];
  const home = homeFolder();
  try {
    outcome = await run(options, config, file, signal);
    if (outcome && options.keepUp) hold(homeFolder(), 'up');
  } finally {
    const info = readState(home);
    others = await leaveStack();
    if (others.length === 0) await endSandboxes(home, info);
    restore();
  }
  if (options.json) printJson(outcome ?? { id, state: 'interrupted', result: null, report: null });
  if (outcome === undefined) {
    process.exitCode = EXIT.interrupted;
    say(
      others.length === 0
        ? `Stopped. Everything committed is kept; go on with: ${sameAgain(command)}`
        : goesOnText(id, others),
    );
  } else if (others.length > 0) {
    say(pc.dim(`The stack stays up for ${others.join(' and ')}.`));
  } else {
    say(pc.dim('The stack is stopped. To look around: npx steadfast up, then episodes, show, status.'));
  }
}

interface Outcome {
  readonly id: string;
  readonly state: string;
  readonly result: unknown;
  /** Path of the HTML file, or null. */
  readonly report: string | null;
}

/** Undefined when the person has interrupted it. */
async function run(
  { name, json = false }: DemoOptions,
  config: CampaignConfig,
  { lanes, providers = {}, ...file }: RunFile & { lanes: number },
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  say(pc.bold('Starting the local stack'));
  const info = await start(signal);
  if (!info || signal.aborted) return undefined;
  const context = openStack(info);
  try {
    await declareProviders(await context.rates(), campaignId('pipeline', name), config, providers);
    const { id, how, row } = await launch(context, name, config, lanes, placeOf(file));
    say(pc.bold(SAID[how](id)));
    // A step that had failed waits for a person: typing the command again is that person's word.
    if (how === 'attached') await sendUpdate(context, id, 'unpause');
    if (how !== 'finished') say(pc.dim(`Temporal: ${workflowUrl(context, id)}`));
    const ended = how === 'finished' ? row : await watch(context, id, { signal, show: true });
    if (!ended) return undefined;
    const report = ended.state === 'done' ? await reportOf(info.home, id) : null;
    if (!json) {
      print(await endText(await context.ledger(), ended));
      if (report) print(`\nreport      ${report}`);
    }
    process.exitCode = exitCodeOf(ended);
    return { id, state: ended.state, result: ended.result, report };
  } finally {
    await context.close();
  }
}

const SAID = {
  started: (id: string) => `${id} started`,
  resumed: (id: string) => `${id} goes on where its committed rows end`,
  attached: (id: string) => `${id} runs already, and goes on`,
  finished: (id: string) => `${id} is finished; this is how it ended (another --name starts afresh)`,
} as const;

async function start(signal: AbortSignal): Promise<StackInfo | undefined> {
  try {
    return await startStack({ holder: 'demo', signal, onProgress: progressLines() });
  } catch (error) {
    if (error instanceof StartInterrupted) return undefined;
    throw error;
  }
}

/** The second Ctrl-C: nothing committed is lost, and the next start recovers the databases. */
function kill(): never {
  if (otherHolders().length === 0) killStack();
  process.exit(EXIT.interrupted);
}

async function openSuite(name = DEFAULT_SUITE): Promise<Suite> {
  const { suiteRegistry } = await import('../workers/suites.js');
  return suiteRegistry()(name);
}

async function reportOf(home: string, id: string): Promise<string> {
  const { reportPath } = await import('../activities/report/metrics-jsonl.js');
  return reportPath(path.join(home, 'reports'), id, 'report.html');
}

/** The command that goes on with the same run: every option that was typed, for the shell. */
function sameAgain(command: Command): string {
  const typed = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  const words = typed.flatMap((option) => {
    const value: unknown = command.getOptionValue(option.attributeName());
    return value === true ? [option.long] : [option.long, quoted(String(value))];
  });
  return words.length === 0 ? 'npm run demo' : ['npx steadfast demo', ...words].join(' ');
}

function quoted(word: string): string {
  return /^[\w./=:@,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function goesOnText(id: string, others: readonly string[]): string {
  return `The stack stays up for ${others.join(' and ')}, so ${id} goes on in its workers.\n  see it    npx steadfast status ${id} --watch\n  stop it   npx steadfast stop ${id}`;
}
