/** How a campaign ended, in words, with the commands that can go on. */
import Table from 'cli-table3';
import type { PoolResult } from '../../activities/campaign/pool.js';
import type { AttemptsSummary } from '../../activities/campaign/summary.js';
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { Estimate } from '../../core/report-data.js';
import { histogramText } from '../../core/selection/histogram.js';
import { stageCampaignId } from '../../core/stage-configs.js';
import { gapsText } from './gaps.js';
import { goOnText } from './go-on-text.js';

export async function endText(ledger: Ledger & LedgerReads, row: CampaignRow): Promise<string> {
  const lines: string[] = [];
  if (row.kind === 'pipeline') lines.push(...(await pipelineText(ledger, row)));
  else if (row.kind === 'train') lines.push(...trainText(row));
  else {
    const result = row.result as AttemptsSummary | null;
    lines.push(...attemptsText(result));
    if (result?.expected !== undefined && !result.complete) lines.push(await gapsText(ledger, row));
  }
  if (row.state !== 'done') lines.push(...(await goOnText(ledger, row)));
  return lines.join('\n');
}

function attemptsText(result: AttemptsSummary | null): string[] {
  // Notes alone are no summary: a campaign that failed before its first attempt has them.
  if (result?.expected === undefined) return [];
  const { clean, expected, exhausted, score, k } = result;
  const lines = [
    `coverage    ${clean} of ${expected} attempts clean${exhausted ? `, ${exhausted} exhausted` : ''}`,
  ];
  if (!score)
    return [
      ...lines,
      'No score is shown until coverage is complete: start it again, only what is missing runs.',
      ...(clean === 0 ? [] : ['--allow-incomplete shows one of what is clean all the same.']),
    ];
  if (result.exhaustedAsFailed) lines.push('exhausted attempts are scored 0, as asked');
  for (const why of result.notComparable ?? []) lines.push(`not comparable with published results: ${why}`);
  const partly = score.incomplete === undefined ? '' : `  (incomplete: ${score.incomplete})`;
  return [
    ...lines,
    `pass@1      ${percent(score.passAt1)}${partly}`,
    // Of one attempt it is pass@1 again.
    ...(k > 1 ? [`pass@${String(k).padEnd(6)} ${percent(score.passAtK)}${partly}`] : []),
    `${`${k}/${k}`.padEnd(11)} ${percent(score.observedK)}, ${score.dependable} of ${score.tasks} tasks${partly}`,
  ];
}

function trainText(row: CampaignRow): string[] {
  const result = row.result as { steps?: number; weightDigest?: string | null } | null;
  if (result?.steps === undefined) return [];
  return [`steps       ${result.steps}`, `weights     ${result.weightDigest ?? 'the base'}`];
}

async function pipelineText(ledger: Ledger, row: CampaignRow): Promise<string[]> {
  const lines: string[] = [];
  const selection = (row.result as { selection?: PoolResult } | null)?.selection;
  if (selection) {
    lines.push(
      `Success rate of the base, ${selection.candidates} candidates:`,
      histogramText(selection.bands),
    );
  }
  const scored = await Promise.all(
    (['evaluate-base', 'evaluate-final'] as const).map(async (stage) => {
      const stageRow = await ledger.campaign(stageCampaignId(row.id, stage));
      return (stageRow?.result as AttemptsSummary | null | undefined) ?? undefined;
    }),
  );
  const [before, after] = scored;
  if (before?.score) {
    const table = new Table({
      head: ['benchmark', 'before', ...(after?.score ? ['after'] : [])],
      style: { head: [], border: [] },
    });
    const add = (label: string, of: (score: NonNullable<AttemptsSummary['score']>) => string) =>
      table.push([label, of(before.score!), ...(after?.score ? [of(after.score)] : [])]);
    add('pass@1', ({ passAt1 }) => percent(passAt1));
    add(`pass@${before.k}`, ({ passAtK }) => percent(passAtK));
    add(`${before.k}/${before.k}`, ({ observedK }) => percent(observedK));
    add(`tasks at ${before.k}/${before.k}`, ({ dependable, tasks }) => `${dependable} of ${tasks}`);
    lines.push(table.toString());
  }
  return lines;
}

function percent({ value, low, high }: Estimate): string {
  // No task has as many attempts.
  if (!Number.isFinite(value)) return '–';
  const interval = low === null || high === null ? '' : ` [${share(low)}, ${share(high)}]`;
  return `${share(value)} %${interval}`;
}

function share(value: number): string {
  return (100 * value).toFixed(1);
}
