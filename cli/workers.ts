/** `steadfast workers KIND`: one worker process in the foreground, for production. */
import type { Command } from 'commander';
import { requireHostName } from '../core/cluster.js';

const KINDS = {
  pipeline: 'workflows and the ledger',
  sandbox: 'episodes',
  gpu: 'the activities beside one trainer',
} as const;

export function registerWorkers(program: Command): void {
  const workers = program
    .command('workers')
    .description('Run one worker in the foreground; addresses come from the environment (docs/workers.md).');
  for (const [kind, what] of Object.entries(KINDS)) {
    const command = workers.command(kind).description(what);
    if (kind === 'gpu') {
      command.option(
        '--host <name>',
        'the worker of a GPU host itself, by its name in run files: docs/run-file.md',
      );
    }
    command.action(async ({ host }: { readonly host?: string }) => {
      if (host !== undefined) process.env.STEADFAST_GPU_HOST = requireHostName('--host', host);
      const program = host === undefined ? kind : 'gpu-host';
      await import(new URL(`../workers/${program}.js`, import.meta.url).href);
    });
  }
}
