/** `steadfast workers KIND`: one worker process in the foreground, for production. */
import type { Command } from 'commander';

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
    workers
      .command(kind)
      .description(what)
      .action(async () => {
        await import(new URL(`../workers/${kind}.js`, import.meta.url).href);
      });
  }
}
