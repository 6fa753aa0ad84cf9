/**
 * Which attempts of a probe or an evaluation lack a clean result, and why: the first of each kind by key, all of them in
 * a file.
 */
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { checkCoverage, expectedKeys } from '../../core/metrics/coverage.js';
import { coverageText, writeKeys } from '../coverage-text.js';
import { causesText } from './causes-text.js';

export async function gapsText(ledger: Ledger & LedgerReads, { id, config }: CampaignRow): Promise<string> {
  const { tasks, repeat } = config as { readonly tasks: readonly string[]; readonly repeat: number };
  const outcomes = { clean: 'clean', exhausted: 'system_error', pending: 'absent' } as const;
  const rows = (await ledger.attempts(id)).map(({ key, state }) => ({ key, outcome: outcomes[state] }));
  const coverage = checkCoverage(expectedKeys(id, tasks, repeat), rows);
  const keysFile = await writeKeys(coverage, id.replaceAll('/', '-'), undefined);
  return [coverageText(coverage, keysFile), ...(await causesText(ledger, id))].join('\n');
}
