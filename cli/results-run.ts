/** What the verbs of `steadfast results` do, once their options are read. */
import { writeFile } from 'node:fs/promises';
import { readResultFiles } from '../activities/report/results-files.js';
import { readIdList } from '../activities/report/select-files.js';
import { UsageError } from '../core/faults.js';
import { compareEvaluations } from '../core/metrics/compare.js';
import type { Coverage } from '../core/metrics/coverage.js';
import { costReport, NO_USAGE } from '../core/metrics/usage.js';
import type { CostReport, Estimate } from '../core/report-data.js';
import type { ResultsSummary } from '../core/results/result-set.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import type { ResultsFlags } from './results.js';

const SHOWN_KEYS = 20;
const WRONG = {
  missing: 'missing',
  duplicate: 'duplicate',
  unexpected: 'unexpected',
  systemError: 'system error',
} as const;

export async function checkResults(files: readonly string[], flags: ResultsFlags): Promise<void> {
  const { coverage, rows, k } = await summarise(files, flags);
  if (flags.json) printJson({ rows, repeat: k, coverage });
  else print(coverageText(coverage));
  endWith(coverage);
}

export async function summarizeResults(files: readonly string[], flags: ResultsFlags): Promise<void> {
  const summary = await summarise(files, flags);
  const cost = costOfResults(summary, flags);
  if (flags.json) printJson({ ...summary, cost });
  else
    print(
      [coverageText(summary.coverage), scoresText(summary, flags), costText(cost)]
        .filter(Boolean)
        .join('\n\n'),
    );
  endWith(summary.coverage);
}

export async function compareResults(
  beforeFile: string,
  afterFile: string,
  flags: ResultsFlags,
): Promise<void> {
  const before = await summarise([beforeFile], flags);
  const after = await summarise([afterFile], flags);
  const shown = before.scores !== null && after.scores !== null;
  const comparison = shown ? compareEvaluations(before.tasks, after.tasks, before.k) : null;
  if (flags.json) {
    const withCost = (summary: ResultsSummary) => ({ ...summary, cost: costOfResults(summary, flags) });
    printJson({ before: withCost(before), after: withCost(after), comparison });
  } else {
    for (const [label, summary] of [
      ['before', before],
      ['after', after],
    ] as const) {
      const cost = costText(costOfResults(summary, flags));
      print(
        `${label}: ${[coverageText(summary.coverage), scoresText(summary, flags), cost].filter(Boolean).join('\n')}\n`,
      );
    }
    if (comparison) {
      print(
        [
          `pass@1 ${signed(comparison.passAt1)}, ${before.k}/${before.k} ${signed(comparison.observedK)} over ${comparison.tasks} tasks`,
          `became dependable (${comparison.gained.length}): ${comparison.gained.join(', ') || 'none'}`,
          `no longer dependable (${comparison.lost.length}): ${comparison.lost.join(', ') || 'none'}`,
        ].join('\n'),
      );
    }
  }
  endWith(before.coverage.complete ? after.coverage : before.coverage);
}

async function summarise(files: readonly string[], flags: ResultsFlags): Promise<ResultsSummary> {
  const { uids } = await readIdList(flags.tests);
  const { results } = await readResultFiles(files);
  const summary = results.summary({
    taskIds: [...uids],
    repeat: flags.repeat,
    allowIncomplete: flags.allowIncomplete ?? false,
    systemErrorsAsFailed: flags.systemErrorsAsFailed ?? false,
  });
  if (flags.keysOut !== undefined) await writeFile(flags.keysOut, keyLines(summary.coverage).join(''));
  return summary;
}

function keyLines(coverage: Coverage): string[] {
  return Object.entries(WRONG).flatMap(([kind, name]) =>
    coverage[kind as keyof typeof WRONG].map((key) => `${name}\t${key}\n`),
  );
}

function coverageText(coverage: Coverage): string {
  const head = `${coverage.clean} of ${coverage.expected} expected keys are clean`;
  if (coverage.complete) return `${head}: coverage is complete`;
  const parts = Object.entries(WRONG).flatMap(([kind, name]) => {
    const keys = coverage[kind as keyof typeof WRONG];
    if (keys.length === 0) return [];
    const more = keys.length > SHOWN_KEYS ? [`  ... and ${keys.length - SHOWN_KEYS} more (--keys-out)`] : [];
    return [`${name} (${keys.length}):`, ...keys.slice(0, SHOWN_KEYS).map((key) => `  ${key}`), ...more];
  });
  return [head, ...parts].join('\n');
}

function scoresText({ scores, k, coverage }: ResultsSummary, flags: ResultsFlags): string {
  if (scores === null)
    return 'No score is shown while coverage is incomplete (--allow-incomplete shows one all the same).';
  const width = Math.max(...scores.map(({ label }) => label.length));
  const lines = scores.map(({ label, tasks, passAt1, passAtK, observedK, dependable }) =>
    [
      label.padEnd(width),
      `${tasks} tasks`,
      `pass@1 ${percent(passAt1)}`,
      `pass@${k} ${percent(passAtK)}`,
      `${k}/${k} ${percent(observedK)} (${dependable} tasks)`,
    ].join('  '),
  );
  if (!coverage.complete) lines.push('INCOMPLETE: these scores leave out keys that are not clean.');
  if (flags.systemErrorsAsFailed) lines.push('System errors are scored 0 here, as asked.');
  return lines.join('\n');
}

function costOfResults({ tokens, scores }: ResultsSummary, flags: ResultsFlags): CostReport | null {
  const { promptPrice, sampledPrice } = flags;
  if (promptPrice === undefined && sampledPrice === undefined) return null;
  if (promptPrice === undefined || sampledPrice === undefined) {
    throw new UsageError('--prompt-price and --sampled-price', 'both or neither', 'one of them');
  }
  if (tokens === null) {
    throw new UsageError(
      '--prompt-price',
      'rows with token counts in `usage`',
      'rows without',
      'Leave the prices away.',
    );
  }
  const [all] = scores ?? [];
  if (!all) return null;
  const usage = { ...NO_USAGE, policyPromptTokens: tokens.prompt, policySampledTokens: tokens.sampled };
  return costReport(
    usage,
    { policy: { promptPerMillion: promptPrice, sampledPerMillion: sampledPrice } },
    all,
  );
}

function costText(cost: CostReport | null): string {
  if (cost === null) return '';
  const each = (value: number | null, digits: number) =>
    value === null ? 'none' : `$${value.toFixed(digits)}`;
  return `cost $${cost.total.toFixed(2)}, per success ${each(cost.perSuccess, 3)}, per dependable task ${each(cost.perDependable, 2)}`;
}

function percent({ value, low, high }: Estimate): string {
  const share = (part: number) => (part * 100).toFixed(2);
  return low === null || high === null
    ? `${share(value)} %`
    : `${share(value)} % [${share(low)}, ${share(high)}]`;
}

function signed({ value, low, high }: Estimate): string {
  const points = (part: number) => `${part >= 0 ? '+' : ''}${(part * 100).toFixed(2)}`;
  const interval = low === null || high === null ? '' : ` [${points(low)}, ${points(high)}]`;
  return `${points(value)} points${interval}`;
}

function endWith(coverage: Coverage): void {
  if (coverage.complete) return;
  process.exitCode = EXIT.incomplete;
  say('Coverage is incomplete.');
}
