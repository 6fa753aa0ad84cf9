/** The end of a night: its scores, what they are compared with, and whether that is a regression. */
import type { AttemptsConfig } from '../../core/campaign.js';
import type { CampaignRow } from '../../core/ledger.js';
import { expectedKeys } from '../../core/metrics/coverage.js';
import { type EvaluationMetrics, evaluationMetrics } from '../../core/metrics/evaluation.js';
import type { Score } from '../../core/metrics/scores.js';
import { judgeAgainst, type NightSide } from '../../core/nightly/judge.js';
import type {
  NightComparison,
  NightRow,
  NightScore,
  NightState,
  ScheduleRow,
} from '../../core/nightly/schedule.js';
import { campaignRow } from '../campaign/deps.js';
import { shareOfAttempts } from '../campaign/summary.js';
import type { NightlyDeps } from './deps.js';

export interface Closed {
  readonly state: NightState;
  readonly regression: boolean;
}

type Deps = Pick<NightlyDeps, 'ledger' | 'schedules'>;

/**
 * Records the night. Without complete coverage it is compared with nothing, and has no score unless the schedule asks
 * for scores that say how much they are of.
 */
export async function closeWithScores(deps: Deps, schedule: ScheduleRow, night: NightRow): Promise<Closed> {
  const { allowIncomplete = false, baseline: pinned } = schedule.config;
  const { row, metrics } = await measured(deps, night.evaluation, allowIncomplete);
  const [all] = metrics.scores ?? [];
  if (!all || !metrics.coverage.complete) return closeIncomplete(deps, night, row, metrics);
  const tonight = sideOf(night.evaluation, night.at, row, metrics);
  const before = await deps.schedules.nightBefore(night);
  const previous = before ? await compare(deps, before.evaluation, before.at, tonight) : null;
  const baseline = pinned === null ? null : await compare(deps, pinned, null, tonight);
  const regression = [previous, baseline].some((each) => (each?.regressed.length ?? 0) > 0);
  await deps.schedules.noteNight(
    night,
    { score: scoreOf(all, metrics.k), previous, baseline, regression, cause: null },
    'done',
  );
  return { state: 'done', regression };
}

async function closeIncomplete(
  { schedules }: Deps,
  night: NightRow,
  row: CampaignRow,
  { coverage: { clean, expected }, scores, k }: EvaluationMetrics,
): Promise<Closed> {
  const state = row.state === 'stopped' ? 'stopped' : 'incomplete';
  const [all] = scores ?? [];
  const counted = `${clean} of ${expected} attempts have a result`;
  const cause = all
    ? `${counted}; its score leaves the others out and is compared with nothing`
    : `${counted}; no score until all of them have`;
  const score = all && scoreOf(all, k, shareOfAttempts(all.attempts, expected));
  await schedules.noteNight(night, { cause, regression: false, ...(score ? { score } : {}) }, state);
  return { state, regression: false };
}

function scoreOf(
  { tasks, passAt1, observedK, dependable }: Score,
  k: number,
  incomplete?: string,
): NightScore {
  return { ...(incomplete === undefined ? {} : { incomplete }), tasks, k, passAt1, observedK, dependable };
}

async function compare(
  deps: Deps,
  evaluation: string,
  at: string | null,
  tonight: NightSide,
): Promise<NightComparison | null> {
  const { row, metrics } = await measured(deps, evaluation);
  // It may have been begun again meanwhile.
  if (!metrics.scores) return null;
  return judgeAgainst(sideOf(evaluation, at, row, metrics), tonight);
}

async function measured({ ledger }: Deps, id: string, allowIncomplete = false) {
  const row = await campaignRow(ledger, id);
  const { tasks, repeat, exhaustedAsFailed } = row.config as AttemptsConfig;
  const metrics = evaluationMetrics({
    attempts: await ledger.attempts(id),
    expected: expectedKeys(id, tasks, repeat),
    k: repeat,
    exhaustedAsFailed,
    allowIncomplete,
  });
  return { row, metrics };
}

function sideOf(
  evaluation: string,
  at: string | null,
  { suiteDigest }: CampaignRow,
  { k, tasks }: EvaluationMetrics,
): NightSide {
  return { evaluation, at, suiteDigest, k, tasks };
}
