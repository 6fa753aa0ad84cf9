/**
 * `steadfast demo`: the whole pipeline on this machine. Starts the stack, probes, selects, evaluates the base, trains,
 * evaluates again, writes the report and stops the stack. Interrupted at any moment, the same command goes on.
 */
import path from 'node:path';
import type { Command } from 'commander';
import pc from 'picocolors';
import type { RunFile } from '../core/schemas/run-file.js';
import { startStack } from '../infra/stack/start.js';
import { killStack, stopStack } from '../infra/stack/stop.js';
import { openStack } from './context.js';
import { EXIT } from './exit.js';
import { onInterrupt } from './interrupts.js';
import { print, printJson, say } from './output.js';
import { endText } from './run/ending.js';
import { launch } from './run/launch.js';
import { integer } from './run/options.js';
import { pipelineConfig, readRunFile } from './run/resolve.js';
import { exitCodeOf, workflowUrl } from './run/stage.js';
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

/** A learning rate for 277 thousand parameters, not for 27 billion (docs/learning.md). */
const LEARNING_RATE = 7e-4;
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
    .option('--steps <n>', 'training steps', integer(1), 15)
    .option('--probes <n>', 'attempts a candidate before training', integer(1), 8)
    .option('--repeat <n>', 'attempts a benchmark task, before and after', integer(1), 20)
    .option('--lanes <n>', 'episodes in flight', integer(1), 48)
    .option('--file <run.yaml>', 'run file; its values win over these defaults')
    .option('--keep-up', 'leave the stack running at the end')
    .option('--json', 'print the result as one JSON document')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast demo\n  $ steadfast demo --name seed-2 --seed 2\n  $ steadfast demo --name long --steps 50 --keep-up\n\nCtrl-C stops the stack cleanly; the same command goes on where committed rows end.\n',
    )
    .action(demo);
}

async function demo(options: DemoOptions): Promise<void> {
  const { suiteRegistry } = await import('../workers/suites.js');
  const file = await readRunFile(options.file);
  const suite = await suiteRegistry()(file.suite ?? 'deskbench');
  const config = await pipelineConfig(withDefaults(file, options), suite);

  const controller = new AbortController();
  const restore = onInterrupt(() => {
    say('\nStopping the stack cleanly; press Ctrl-C again to kill it.');
    controller.abort();
  }, kill);
  say(pc.bold('Starting the local stack'));
  const info = await startStack({ onProgress: progressLines() });
  const context = openStack(info);
  let interrupted = false;
  try {
    if (controller.signal.aborted) interrupted = true;
    else {
      const { id, how, row } = await launch(context, options.name, config, options.lanes);
      say(pc.bold(how === 'started' ? `${id} started` : `${id} goes on where its committed rows end`));
      say(pc.dim(`Temporal: ${workflowUrl(context, id)}`));
      const ended =
        how === 'finished' ? row : await watch(context, id, { signal: controller.signal, show: true });
      if (ended) {
        if (options.json) printJson({ id, state: ended.state, result: ended.result });
        else print(await endText(await context.ledger(), ended));
        if (ended.state === 'done') await sayReport(info.home, id);
        process.exitCode = exitCodeOf(ended);
      } else interrupted = true;
    }
  } finally {
    await context.close();
    restore();
  }
  const killable = onInterrupt(kill, () => undefined);
  if (interrupted || !options.keepUp) await stopStack();
  killable();
  if (interrupted) {
    say(`Stopped. Everything committed is kept; go on with: ${again(options)}`);
    process.exitCode = EXIT.interrupted;
  } else if (!options.keepUp) {
    say(
      pc.dim(
        'The stack is stopped. To look around: npx steadfast up, then npx steadfast episodes, show, status.',
      ),
    );
  }
}

/** The second Ctrl-C: nothing committed is lost, and the next start recovers the databases. */
function kill(): never {
  killStack();
  process.exit(EXIT.interrupted);
}

function withDefaults(file: RunFile, options: DemoOptions): RunFile {
  return {
    ...file,
    seed: file.seed ?? options.seed,
    probe: { repeat: options.probes, ...file.probe },
    benchmark: { repeat: options.repeat, ...file.benchmark },
    prices: file.prices ?? EXAMPLE_PRICES,
    train: {
      ...file.train,
      steps: file.train?.steps ?? options.steps,
      plan: { learningRate: LEARNING_RATE, ...file.train?.plan },
    },
  };
}

async function sayReport(home: string, id: string): Promise<void> {
  const { reportPath } = await import('../activities/report/metrics-jsonl.js');
  print(`\nreport      ${reportPath(path.join(home, 'reports'), id, 'report.html')}`);
}

function again(options: DemoOptions): string {
  return options.name === 'demo'
    ? 'npm run demo'
    : `npx steadfast demo --name ${options.name} (and the same options)`;
}
