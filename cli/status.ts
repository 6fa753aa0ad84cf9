/** `steadfast status`: where campaigns stand, from the ledger. */
import type { Command } from 'commander';
import { withStack } from './context.js';
import { onInterrupt } from './interrupts.js';
import { print, printJson } from './output.js';
import { resolveCampaign } from './run/find.js';
import { progressLine } from './run/progress.js';
import { snapshot } from './run/snapshot.js';
import { exitCodeOf, workflowUrl } from './run/stage.js';
import { watch } from './run/watch.js';

interface StatusOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('Counts, rate, time left and system errors of one campaign, or of all.')
    .argument('[campaign]', 'e.g. train/run-1; all when absent')
    .option('--watch', 'until it ends; Ctrl-C stops watching only')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExamples:\n  $ steadfast status\n  $ steadfast status train/run-1 --watch\n')
    .action(async (name: string | undefined, options: StatusOptions) => {
      await withStack(async (context) => {
        const ledger = await context.ledger();
        if (name === undefined) {
          const all = await ledger.campaigns();
          const found = await Promise.all(
            all.filter(({ kind }) => kind !== 'pipeline').map(({ id }) => snapshot(ledger, id)),
          );
          const campaigns = found.flatMap((one) => one?.campaigns ?? []);
          if (options.json) printJson(campaigns);
          else print(campaigns.length === 0 ? 'no campaigns yet' : campaigns.map(progressLine).join('\n'));
          return;
        }
        const { id } = await resolveCampaign(ledger, name);
        if (options.watch) {
          const controller = new AbortController();
          const restore = onInterrupt(
            () => controller.abort(),
            () => process.exit(),
          );
          const row = await watch(context, id, {
            signal: controller.signal,
            show: true,
            throughPauses: true,
          });
          restore();
          if (row) process.exitCode = exitCodeOf(row);
          return;
        }
        const seen = (await snapshot(ledger, id))!;
        if (options.json) printJson({ id, state: seen.row.state, campaigns: seen.campaigns });
        else print([...seen.campaigns.map(progressLine), `Temporal: ${workflowUrl(context, id)}`].join('\n'));
      });
    });
}
