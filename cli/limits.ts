/** `steadfast limits`: what providers of models allow, for every campaign that uses their keys, and who waits there now. */
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import { limitsText, type ProviderLimits, type ProviderRow } from '../core/limits/rates.js';
import { nearest } from '../core/nearest.js';
import { withStack } from './context.js';
import { print, printJson } from './output.js';
import { integer } from './run/options.js';
import { waitingText } from './run/waiting.js';

const MOST = { requests: 10_000_000, tokens: 10_000_000_000 } as const;

export function registerLimits(program: Command): void {
  const limits = program
    .command('limits')
    .description('Limits of model providers, shared by all campaigns and workers of one key.')
    .addHelpText(
      'after',
      '\nA provider is named in a run file (model, user, judge: provider), else after the host of its address.\n\nExamples:\n  $ steadfast limits\n  $ steadfast limits set api.example.com --requests-per-minute 500 --tokens-per-minute 200000\n  $ steadfast limits remove api.example.com\n',
    );
  limits
    .command('list', { isDefault: true })
    .description('Every provider with limits, and who waits there now.')
    .option('--json', 'print as JSON')
    .action(list);
  limits
    .command('set')
    .description('Set a provider’s limits; running campaigns keep to them within ten seconds.')
    .argument('<provider>', 'its name, or the host of its address')
    .option('--requests-per-minute <n>', 'requests in any minute', integer(1, MOST.requests))
    .option('--tokens-per-minute <n>', 'tokens, prompt and answer, in any minute', integer(1, MOST.tokens))
    .action(set);
  limits
    .command('remove')
    .description('Take a provider’s limits away.')
    .argument('<provider>')
    .action(remove);
}

async function list({ json = false }: { readonly json?: boolean }): Promise<void> {
  await withStack(async (context) => {
    const rows = await (await context.rates()).list();
    if (json) return printJson({ providers: rows });
    print(rows.length === 0 ? 'no provider has limits' : rows.map(line).join('\n'));
  });
}

function line(row: ProviderRow): string {
  const refused = row.refusals > 0 ? `  refused all the same ${row.refusals} times` : '';
  const waiting = waitingText(row);
  return `${row.provider.padEnd(24)}  ${limitsText(row)}, by ${row.declaredBy}${refused}${waiting ? `\n  ${waiting}` : ''}`;
}

async function set(provider: string, limits: ProviderLimits): Promise<void> {
  if (limits.requestsPerMinute === undefined && limits.tokensPerMinute === undefined) {
    throw new UsageError(
      `limits of ${provider}`,
      '--requests-per-minute, --tokens-per-minute or both',
      'neither',
    );
  }
  await withStack(async (context) => {
    const rates = await context.rates();
    await rates.set(provider, limits, '`steadfast limits set`');
    const row = (await rates.list()).find((each) => each.provider === provider);
    if (row) print(line(row));
  });
}

async function remove(provider: string): Promise<void> {
  await withStack(async (context) => {
    const rates = await context.rates();
    const known = (await rates.list()).map((row) => row.provider);
    if (await rates.remove(provider)) return print(`${provider} has no limits now`);
    const near = nearest(provider, known);
    const expected = known.length === 0 ? 'a provider with limits' : `one of ${known.join(', ')}`;
    throw new UsageError('provider', expected, `"${provider}"`, near && `Did you mean ${near}?`);
  });
}
