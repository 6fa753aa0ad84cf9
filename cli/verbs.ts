/** Every verb of the command: its name, one line, and where it is. A verb's file is loaded only when it is used. */
import type { Command } from 'commander';
import { openStack } from './context.js';
import { programVersion } from './version.js';

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  /** Registers the verb (with options, help and action) on the program. */
  readonly load: () => Promise<(program: Command) => void>;
}

const STACK = 'The local stack';
const STAGES = 'Stages of a run';
const CONTROL = 'A run under way';
const LOOK = 'What happened';
const TOOLS = 'Tools';

export const VERBS: readonly Verb[] = [
  {
    name: 'demo',
    summary: 'probe, select, train and evaluate a small policy, with a report',
    group: STACK,
    load: async () => (await import('./demo.js')).registerDemo,
  },
  {
    name: 'up',
    summary: 'start the local stack: Temporal, PostgreSQL, trainer, endpoints, workers',
    group: STACK,
    load: async () => (await import('./up.js')).registerUp,
  },
  {
    name: 'down',
    summary: 'stop every process of the local stack',
    group: STACK,
    load: async () => (await import('./down.js')).registerDown,
  },
  {
    name: 'doctor',
    summary: 'say what is missing, with the exact fix',
    group: STACK,
    load: async () => (await import('./doctor.js')).registerDoctor,
  },
  {
    name: 'probe',
    summary: 'try every candidate n times',
    group: STAGES,
    load: async () => (await import('./probe.js')).registerProbe,
  },
  {
    name: 'select',
    summary: 'choose a training pool from probe rows',
    group: STAGES,
    load: async () => {
      const { registerSelect } = await import('./select.js');
      return (program) =>
        registerSelect(program, {
          programVersion: programVersion(),
          loadLedger: async () => {
            const context = openStack();
            return { ledger: await context.ledger(), close: context.close };
          },
          out: (text) => process.stdout.write(text),
          err: (text) => process.stderr.write(text),
        });
    },
  },
  {
    name: 'train',
    summary: 'GRPO on a fixed pool',
    group: STAGES,
    load: async () => (await import('./train.js')).registerTrain,
  },
  {
    name: 'evaluate',
    summary: 'the benchmark, every task n times',
    group: STAGES,
    load: async () => (await import('./evaluate.js')).registerEvaluate,
  },
  {
    name: 'schedule',
    summary: 'nightly evaluations: create, list, last, trigger, backfill',
    group: STAGES,
    load: async () => (await import('./schedule.js')).registerSchedule,
  },
  {
    name: 'serve',
    summary: 'weights behind vLLM on a GPU host: start, list, stop',
    group: STAGES,
    load: async () => (await import('./serve.js')).registerServe,
  },
  {
    name: 'status',
    summary: 'counts, rate, time left, system errors',
    group: CONTROL,
    load: async () => (await import('./status.js')).registerStatus,
  },
  {
    name: 'pause',
    summary: 'finish what is in flight, start nothing new',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerPause,
  },
  {
    name: 'unpause',
    summary: 'go on',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerUnpause,
  },
  {
    name: 'stop',
    summary: 'stop for good; committed episodes stay',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerStop,
  },
  {
    name: 'extend',
    summary: 'raise the number of steps',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerExtend,
  },
  {
    name: 'lanes',
    summary: 'change the number of episodes in flight',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerLanes,
  },
  {
    name: 'priority',
    summary: 'change who goes first where several wait for sandboxes',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerPriority,
  },
  {
    name: 'pool',
    summary: 'play the rest in another pool of sandbox workers',
    group: CONTROL,
    load: async () => (await import('./control.js')).registerPool,
  },
  {
    name: 'skip',
    summary: 'leave a failed step out and go on with the next',
    group: CONTROL,
    load: async () => (await import('./skip.js')).registerSkip,
  },
  {
    name: 'replay',
    summary: 'a recorded step or episode again: compare, finish, fork',
    group: LOOK,
    load: async () => (await import('./replay.js')).registerReplay,
  },
  {
    name: 'episodes',
    summary: 'find attempts',
    group: LOOK,
    load: async () => (await import('./episodes.js')).registerEpisodes,
  },
  {
    name: 'show',
    summary: 'one episode: messages, verdict, state difference',
    group: LOOK,
    load: async () => (await import('./show.js')).registerShow,
  },
  {
    name: 'report',
    summary: 'HTML, Markdown and JSON of a campaign',
    group: LOOK,
    load: async () => (await import('./report.js')).registerReport,
  },
  {
    name: 'compare',
    summary: 'evaluations, paired by task; or two training runs',
    group: LOOK,
    load: async () => (await import('./compare.js')).registerCompare,
  },
  {
    name: 'verify',
    summary: 'check the invariants of the ledger',
    group: LOOK,
    load: async () => (await import('./verify.js')).registerVerify,
  },
  {
    name: 'ledger',
    summary: 'the schema of a database of your own: migrate',
    group: TOOLS,
    load: async () => (await import('./ledger.js')).registerLedger,
  },
  {
    name: 'limits',
    summary: 'requests and tokens a minute that model providers allow',
    group: TOOLS,
    load: async () => (await import('./limits.js')).registerLimits,
  },
  {
    name: 'sandbox',
    summary: 'images of tool servers for Docker',
    group: TOOLS,
    load: async () => (await import('./sandbox.js')).registerSandbox,
  },
  {
    name: 'suite',
    summary: 'list or check a suite',
    group: TOOLS,
    load: async () => (await import('./suite.js')).registerSuite,
  },
  {
    name: 'interpret',
    summary: 'model output to tool calls, on standard input',
    group: TOOLS,
    load: async () => (await import('./interpret.js')).registerInterpret,
  },
  {
    name: 'workers',
    summary: 'one worker process, for production',
    group: TOOLS,
    load: async () => (await import('./workers.js')).registerWorkers,
  },
  {
    name: 'results',
    summary: 'check, score, compare and import result files of other runners',
    group: LOOK,
    load: async () => (await import('./results.js')).registerResults,
  },
];
