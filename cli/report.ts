/** `steadfast report`: the report of a campaign as HTML, Markdown and JSON, from what the ledger holds now. */
import path from 'node:path';
import type { Command } from 'commander';
import { requireRoom } from '../infra/setup/disk.mjs';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { readRunFile } from './run/files.js';
import { resolveCampaign } from './run/find.js';

interface ReportOptions {
  readonly file?: string;
  readonly out?: string;
  readonly allowIncomplete?: boolean;
  readonly json?: boolean;
}

export function registerReport(program: Command): void {
  program
    .command('report')
    .description('Write the report of a campaign: one HTML file that opens from disk, Markdown and JSON.')
    .argument('<campaign>', 'e.g. pipeline/demo, train/run-1, eval/night')
    .option('--file <run.yaml>', 'run file whose `prices:` are used')
    .option('--out <folder>', 'where to; default: reports/ under the home folder')
    .option(
      '--allow-incomplete',
      'scores of incomplete coverage too; the report says so wherever it shows one',
    )
    .option('--json', 'print the paths as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ steadfast report demo --out /tmp/report\n\nExit code 3: an evaluation in it is incomplete.\n',
    )
    .action(async (name: string, options: ReportOptions) => {
      const { writeReportFiles } = await import('../activities/report/files.js');
      const file = await readRunFile(options.file);
      if (options.out !== undefined) requireRoom(path.resolve(options.out), 1, 'the report');
      await withStack(async (context) => {
        const ledger = await context.ledger();
        const row = await resolveCampaign(ledger, name);
        const { files, complete } = await writeReportFiles(
          {
            ledger,
            artifacts: await context.artifacts(),
            // Without a run file the report finds those of the campaign's configuration, or of its pipeline's.
            ...(file.prices ? { prices: file.prices } : {}),
            allowIncomplete: options.allowIncomplete ?? false,
            reports: path.resolve(options.out ?? path.join(context.info.home, 'reports')),
          },
          row.id,
        );
        if (options.json) printJson(files);
        else print(files.html);
        if (complete) return;
        process.exitCode = EXIT.incomplete;
        say(
          options.allowIncomplete
            ? 'Coverage is incomplete: the report says so beside every score.'
            : 'Coverage is incomplete, so the report shows no score (--allow-incomplete).',
        );
      });
    });
}
