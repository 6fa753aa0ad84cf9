/** What `results check`, `summarize` and `compare` do, once their options are read. */
import path from 'node:path';
import { readResultFiles } from '../activities/report/results-files.js';
import { readIdList } from '../activities/report/select-files.js';
import { UsageError } from '../core/faults.js';
import type { Coverage } from '../core/metrics/coverage.js';
import { costReport } from '../core/metrics/usage.js';
import { type Price, type PriceTable, priceOf } from '../core/prices.js';
import type { CostReport } from '../core/report-data.js';
import { usageOf } from '../core/results/evaluation.js';
import type { ResultsSummary } from '../core/results/result-set.js';
import { domainOf } from '../suites/thinkingbox/domains.js';
import { showComparison } from './compare-show.js';
import { sideName } from './compare-sides.js';
import { coverageText, writeKeys } from './coverage-text.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import type { CompareFlags, ResultsFlags } from './results.js';
import { conductText, costText, scoresText } from './results-text.js';
import { readPrices } from './run/prices.js';

export async function checkResults(files: readonly string[], flags: ResultsFlags): Promise<void> {
  const { coverage, rows, k } = await summarise(files, flags);
  const keysFile = await writeKeys(coverage, path.basename(files[0] ?? 'rows'), flags.keysOut);
  if (flags.json) printJson({ rows, repeat: k, coverage, keysFile });
  else print(coverageText(coverage, keysFile));
  endWith(coverage);
}

export async function summarizeResults(files: readonly string[], flags: ResultsFlags): Promise<void> {
  const prices = await pricesOf(flags);
  const price = prices && priceOf(prices, flags.model ?? '*');
  const summary = await summarise(files, flags);
  const keysFile = await writeKeys(summary.coverage, path.basename(files[0] ?? 'rows'), flags.keysOut);
  const cost = costOfResults(summary, price);
  if (flags.json) {
    const { placed: _placed, ...rest } = summary;
    printJson({ ...rest, cost, keysFile });
  } else {
    const scored = summary.scores !== null;
    const parts = [
      coverageText(summary.coverage, keysFile),
      scoresText(summary, flags.systemErrorsAsFailed ?? false),
      scored && [conductText(summary), costText(cost)].filter(Boolean).join('\n'),
    ];
    print(parts.filter(Boolean).join('\n\n'));
  }
  endWith(summary.coverage);
}

export async function compareResults(files: readonly string[], flags: CompareFlags): Promise<void> {
  const sides = files.map(sideName);
  const campaign = sides.find(({ kind }) => kind === 'campaign');
  if (campaign) {
    throw new UsageError(
      'results compare',
      'files of result rows',
      `"${campaign.name}", which is none`,
      'Campaigns, and campaigns with files: steadfast compare',
    );
  }
  const { tests, repeat } = flags;
  const common = { prices: await pricesOf(flags), allowIncomplete: flags.allowIncomplete ?? false };
  const systemErrorsAsFailed = flags.systemErrorsAsFailed ?? false;
  await showComparison(sides, { tests, repeat, ...common, systemErrorsAsFailed }, flags, null);
}

async function summarise(files: readonly string[], flags: ResultsFlags): Promise<ResultsSummary> {
  const { uids } = await readIdList(flags.tests);
  const { results } = await readResultFiles(files);
  return results.summary({
    taskIds: [...uids],
    repeat: flags.repeat,
    allowIncomplete: flags.allowIncomplete ?? false,
    systemErrorsAsFailed: flags.systemErrorsAsFailed ?? false,
    domainOf: (scenario) => domainOf(scenario, null),
  });
}

async function pricesOf({ prices, promptPrice, sampledPrice }: ResultsFlags): Promise<PriceTable | null> {
  if (promptPrice === undefined && sampledPrice === undefined) {
    return prices === undefined ? null : readPrices(prices);
  }
  if (promptPrice === undefined || sampledPrice === undefined) {
    throw new UsageError('--prompt-price and --sampled-price', 'both or neither', 'one of them');
  }
  if (prices !== undefined) {
    throw new UsageError('--prices', 'a table, or prices on the command line', 'both');
  }
  return { '*': { promptPerMillion: promptPrice, sampledPerMillion: sampledPrice } };
}

function costOfResults(summary: ResultsSummary, price: Price | null): CostReport | null {
  if (price === null) return null;
  const [all] = summary.scores ?? [];
  if (!all) return null;
  if (summary.tokens === null) {
    const { rowsWithoutTokens, placed } = summary;
    throw new UsageError(
      'prices',
      'rows with token counts in `usage`',
      `${rowsWithoutTokens} of ${placed.length} rows without`,
      'Leave the prices away.',
    );
  }
  return costReport(usageOf(summary), { policy: price }, all);
}

export function endWith(coverage: Coverage): void {
  if (coverage.complete) return;
  process.exitCode = EXIT.incomplete;
  say('Coverage is incomplete.');
}
