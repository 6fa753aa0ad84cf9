/** Scores of result rows, for the terminal. */
import { compact, count, dollars, duration, number, percent } from '../activities/report/format.js';
import type { Score } from '../core/metrics/scores.js';
import type { CostReport, Estimate } from '../core/report-data.js';
import type { ResultsSummary } from '../core/results/result-set.js';

export function scoresText(
  { scores, k, coverage, tasks }: ResultsSummary,
  systemErrorsAsFailed: boolean,
): string {
  if (scores === null) {
    return tasks.length === 0
      ? 'There is no clean row to score.'
      : 'No score is shown while coverage is incomplete (--allow-incomplete shows one all the same).';
  }
  const width = Math.max(...scores.map(({ label }) => label.length));
  const lines = scores.map((score) => scoreLine(score, k, width));
  if (!coverage.complete) lines.push('INCOMPLETE: these scores leave out keys that are not clean.');
  if (systemErrorsAsFailed) lines.push('System errors are scored 0 here, as asked.');
  return lines.join('\n');
}

function scoreLine(score: Score, k: number, width: number): string {
  const { label, tasks, passAt1, passAtK, passPowerK, observedK, dependable, solvedOnce } = score;
  return [
    label.padEnd(width),
    `${tasks} tasks`,
    `pass@1 ${estimate(passAt1)}`,
    `pass@${k} ${estimate(passAtK)}`,
    `pass^${k} ${estimate(passPowerK)}`,
    `${k}/${k} ${estimate(observedK)} (${dependable} tasks)`,
    `once ${solvedOnce} tasks`,
  ].join('  ');
}

/** Endings, tool errors, tokens, time; what the rows do not say is left out. */
export function conductText({
  endings,
  tools,
  tokens,
  rowsWithoutTokens,
  time,
  placed,
}: ResultsSummary): string {
  const lines: string[] = [];
  const words = Object.entries(endings).sort(([, a], [, b]) => b.attempts - a.attempts);
  if (words.length > 0) {
    const parts = words.map(
      ([word, { attempts, passed }]) => `${word} ${count(attempts)} (${count(passed)} passed)`,
    );
    lines.push(`ended       ${parts.join(', ')}`);
  }
  if (tools) {
    const rate = tools.calls === 0 ? '' : ` (${percent(tools.errors / tools.calls, 2)})`;
    lines.push(
      `tool calls  ${count(tools.calls)}, ${count(tools.errors)} failed${rate}, in ${percent(tools.episodesWithErrors / tools.episodes)} of the episodes`,
    );
  }
  if (tokens) {
    const each = (tokens.prompt + tokens.sampled) / placed.length;
    lines.push(
      `tokens      ${compact(tokens.prompt)} prompt, ${compact(tokens.sampled)} sampled, ${number(each)} an episode in ${number(tokens.calls / placed.length)} calls`,
    );
  } else if (placed.length > 0) {
    lines.push(`tokens      unknown: ${count(rowsWithoutTokens)} of ${count(placed.length)} rows do not say`);
  }
  if (time) {
    lines.push(
      `time        ${duration(time.total)} in all; an episode ${duration(time.median)} (median), 95 of 100 within ${duration(time.p95)}`,
    );
  }
  return lines.join('\n');
}

export function costText(cost: CostReport | null): string {
  if (cost === null) return '';
  const each = (value: number | null): string => (value === null ? 'none' : dollars(value));
  return `cost        ${dollars(cost.total)}, per success ${each(cost.perSuccess)}, per dependable task ${each(cost.perDependable)}`;
}

function estimate({ value, low, high }: Estimate): string {
  const share = (part: number): string => (part * 100).toFixed(2);
  return low === null || high === null
    ? `${share(value)} %`
    : `${share(value)} % [${share(low)}, ${share(high)}]`;
}
