/** `steadfast ledger migrate`: the schema of a database of one's own, once before the first worker and after each update. */
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import { migrate } from '../infra/migrate.js';
import { readStack } from '../infra/stack/info.js';
import { print, printJson } from './output.js';

export function registerLedger(program: Command): void {
  program
    .command('ledger')
    .description("The ledger's PostgreSQL database.")
    .command('migrate')
    .description('Bring the database of DATABASE_URL to the schema of this version; nothing to do is fine.')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExamples:\n  $ DATABASE_URL=postgres://… steadfast ledger migrate\n')
    .action(async ({ json }: { json?: true }) => {
      const migrations = await migrate(databaseUrl());
      if (json) printJson({ migrations });
      else if (migrations.length === 0) print('the schema is up to date');
      else print([`${migrations.length} migrations were run`, ...migrations].join('\n  '));
    });
}

/** Of the environment; else of the running stack, whose schema is up to date already. */
function databaseUrl(): string {
  const url = process.env.DATABASE_URL || readStack()?.databaseUrl;
  if (url) return url;
  throw new UsageError('DATABASE_URL', 'the address of a PostgreSQL database', 'nothing');
}
