/**
 * Tokens, cost and time of a run, estimated from probe rows: what an episode of the pool took, times the episodes that
 * its batches need. Groups whose members all pass or all fail are replaced, so the probed success rates say how many
 * groups a batch costs. Time is that of sampling with the given lanes; updates come on top.
 */
import type { TrainConfig } from '../../core/campaign.js';
import type { AttemptRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { totalUsage } from '../../core/metrics/usage.js';
import type { Usage } from '../../core/outcome.js';
import { costOf, FREE, type PriceTable } from '../../core/prices.js';
import { LANES } from '../../temporal.config.js';

export interface RunEstimate {
  /** Probed tasks of the pool, and their clean episodes. */
  readonly tasks: number;
  readonly probed: number;
  readonly groupsPerStep: number;
  readonly episodes: number;
  readonly sampledTokens: number;
  readonly promptTokens: number;
  readonly otherTokens: number;
  /** Dollars; null without prices. */
  readonly cost: number | null;
  readonly hours: number;
}

/** Probes that are looked at, newest first. */
const MOST_PROBES = 10;

/** Clean attempts at the run's tasks in the newest probes of its suite. */
export async function newestProbes(
  ledger: Pick<Ledger, 'attempts'> & Pick<LedgerReads, 'campaigns'>,
  { suite, tasks }: Pick<TrainConfig, 'suite' | 'tasks'>,
): Promise<readonly AttemptRow[]> {
  const campaigns = await ledger.campaigns({ kind: 'probe', limit: 100 });
  const pool = new Set(tasks);
  const rows: AttemptRow[] = [];
  for (const { id } of campaigns.filter((row) => row.suite === suite).slice(0, MOST_PROBES)) {
    const attempts = await ledger.attempts(id);
    rows.push(...attempts.filter(({ state, taskId }) => state === 'clean' && pool.has(taskId)));
  }
  return rows;
}

/** Undefined where nothing was probed. Pure. */
export function estimateOf(
  { shape, steps }: Pick<TrainConfig, 'shape' | 'steps'>,
  rows: readonly AttemptRow[],
  {
    lanes = LANES,
    prices,
  }: { readonly lanes?: number | undefined; readonly prices?: PriceTable | undefined },
): RunEstimate | undefined {
  if (rows.length === 0) return undefined;
  const usage = totalUsage(rows.map((row) => row.usage));
  const wallMs = rows.reduce((sum, row) => sum + (row.wallMs ?? 0), 0) / rows.length;
  const groupsPerStep = groupsNeeded(rows, shape);
  const episodes = Math.round(steps * groupsPerStep * shape.groupSize);
  const times = (of: (usage: Usage) => number): number => Math.round((of(usage) / rows.length) * episodes);
  const price = prices?.['*'] ?? Object.values(prices ?? {})[0];
  return {
    tasks: new Set(rows.map(({ taskId }) => taskId)).size,
    probed: rows.length,
    groupsPerStep,
    episodes,
    sampledTokens: times(({ policySampledTokens }) => policySampledTokens),
    promptTokens: times(({ policyPromptTokens }) => policyPromptTokens),
    otherTokens: times(({ otherPromptTokens, otherSampledTokens }) => otherPromptTokens + otherSampledTokens),
    cost: price ? (costOf(usage, price, prices?.['*'] ?? FREE) / rows.length) * episodes : null,
    hours: (episodes * wallMs) / Math.min(lanes, shape.groups * shape.groupSize) / 3_600_000,
  };
}

/** Mean over tasks of the chance that all members end alike, by their probed success rates (Laplace's rule). */
function groupsNeeded(
  rows: readonly AttemptRow[],
  { groups, groupSize, maxGroups }: TrainConfig['shape'],
): number {
  const byTask = new Map<string, { passed: number; all: number }>();
  for (const { taskId, passed } of rows) {
    const known = byTask.get(taskId) ?? { passed: 0, all: 0 };
    byTask.set(taskId, { passed: known.passed + (passed ? 1 : 0), all: known.all + 1 });
  }
  const alike = [...byTask.values()].map(({ passed, all }) => {
    const rate = (passed + 1) / (all + 2);
    return rate ** groupSize + (1 - rate) ** groupSize;
  });
  const share = alike.reduce((sum, chance) => sum + chance, 0) / alike.length;
  return Math.min(maxGroups, groups / (1 - share));
}

export function estimateText(of: RunEstimate): string {
  const millions = (tokens: number): string => `${(tokens / 1e6).toFixed(1)} M`;
  const cost = of.cost === null ? 'no prices given' : `$${of.cost.toFixed(2)}`;
  return [
    `about ${of.episodes} episodes (${of.groupsPerStep.toFixed(1)} groups a step)`,
    `${millions(of.sampledTokens)} sampled and ${millions(of.promptTokens)} prompt tokens, ${millions(of.otherTokens)} of user and judge`,
    cost,
    `${of.hours.toFixed(1)} hours of sampling`,
    `by ${of.probed} probed episodes of ${of.tasks} tasks`,
  ].join('; ');
}
