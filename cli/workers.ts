/** `steadfast workers KIND`: one worker process in the foreground, for production. */
import type { Command } from 'commander';
import { requireHostName } from '../core/cluster.js';
import { poolName } from './run/options.js';

const KINDS = {
  pipeline: 'workflows and the ledger',
  sandbox: 'episodes',
  gpu: 'the activities beside one trainer',
} as const;

interface WorkerOptions {
  /** True: without a name. */
  readonly host?: string | true;
  readonly slots?: string;
  readonly pool?: string;
}

export function registerWorkers(program: Command): void {
  const workers = program
    .command('workers')
    .description('Run one worker in the foreground; addresses come from the environment (docs/workers.md).');
  for (const [kind, what] of Object.entries(KINDS)) {
    const command = workers.command(kind).description(what);
    if (kind === 'gpu') {
      command.option(
        '--host [name]',
        'the worker of a GPU host itself, by its name in run files (STEADFAST_GPU_HOST, or the system’s): docs/run-file.md',
      );
    }
    if (kind === 'sandbox') sandboxOptions(command);
    command.action(async ({ host, slots, pool }: WorkerOptions) => {
      // Workers read their environment, however they are started.
      if (slots !== undefined) process.env.STEADFAST_SLOTS = slots;
      if (pool !== undefined) process.env.STEADFAST_POOL = pool;
      if (typeof host === 'string') process.env.STEADFAST_GPU_HOST = requireHostName('--host', host);
      const program = host === undefined ? kind : 'gpu-host';
      await import(new URL(`../workers/${program}.js`, import.meta.url).href);
    });
  }
}

function sandboxOptions(command: Command): void {
  command
    .option('--slots <n>', 'episodes at a time; "resources": by load (worked out from memory and CPUs)')
    .option('--pool <name>', 'plays only what is asked of this pool (what is asked of none)', poolName)
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast workers sandbox\n  $ STEADFAST_ISOLATION=docker steadfast workers sandbox --pool gvisor --slots 16\n',
    );
}
