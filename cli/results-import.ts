/** `steadfast results import`: rows of an evaluation that ran elsewhere become `eval/NAME`. */
import path from 'node:path';
import { importResults } from '../activities/imports/import-results.js';
import { createPool } from '../activities/ledger/pool.js';
import { readIdList } from '../activities/report/select-files.js';
import type { Termination } from '../core/outcome.js';
import { domainOf } from '../suites/thinkingbox/domains.js';
import { withStack } from './context.js';
import { coverageText, writeKeys } from './coverage-text.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { endWith } from './results-run.js';

export interface ImportFlags {
  readonly name: string;
  readonly tests: string;
  readonly repeat: number;
  readonly model: string;
  readonly suite: string;
  readonly keysOut?: string;
  readonly otherEndingsAs?: Termination;
  readonly systemErrorsAsFailed?: boolean;
  readonly json?: boolean;
}

/** Exit code 3 where coverage is incomplete; nothing is imported where a key is there twice, or expected by nobody. */
export async function runImport(files: readonly string[], flags: ImportFlags): Promise<void> {
  const { name, repeat, model, suite } = flags;
  const { uids } = await readIdList(flags.tests);
  await withStack(async (context) => {
    const pool = createPool(context.info.databaseUrl, { applicationName: 'steadfast', max: 2 });
    try {
      const report = await importResults(
        { pool, ledger: await context.ledger(), artifacts: await context.artifacts() },
        {
          ...{ name, files, repeat, model, suite },
          taskIds: [...uids],
          otherEndingsAs: flags.otherEndingsAs ?? null,
          systemErrorsAsFailed: flags.systemErrorsAsFailed ?? false,
          domainOf: (scenario) => domainOf(scenario, null),
        },
      );
      const coverage = 'refused' in report ? report.refused : report.coverage;
      const keysFile = await writeKeys(coverage, path.basename(files[0] ?? 'rows'), flags.keysOut);
      if (flags.json) printJson({ ...report, keysFile });
      else print(coverageText(coverage, keysFile));
      if ('refused' in report) {
        say(
          'Nothing is imported: which of several rows counts, and for whom unexpected ones stand, is not for us to say.',
        );
        process.exitCode = EXIT.incomplete;
        return;
      }
      const { campaign, added, rows } = report;
      const what = added === 0 ? `all ${rows} rows were there already` : `${added} of ${rows} rows are new`;
      say(`${campaign} is imported: ${what}. See: steadfast report ${campaign}`);
      endWith(coverage);
    } finally {
      await pool.end();
    }
  });
}
