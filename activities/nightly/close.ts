/** The end of a night: its scores, what they are compared with, and whether that is a regression. */
import type { AttemptsConfig } from '../../core/campaign.js';
import type { CampaignRow } from '../../core/ledger.js';
import { expectedKeys } from '../../core/metrics/coverage.js';
import { type EvaluationMetrics, evaluationMetrics } from '../../core/metrics/evaluation.js';
import { judgeAgainst, type NightSide } from '../../core/nightly/judge.js';
import type { NightComparison, NightRow, NightState, ScheduleRow } from '../../core/nightly/schedule.js';
import { campaignRow } from '../campaign/deps.js';
import type { NightlyDeps } from './deps.js';

export interface Closed {
  readonly state: NightState;
  readonly regression: boolean;
}

type Deps = Pick<NightlyDeps, 'ledger' | 'schedules'>;

/** Records the night. Without complete coverage it has no score and is compared with nothing. */
export async function closeWithScores(deps: Deps, schedule: ScheduleRow, night: NightRow): Promise<Closed> {
  const { row, metrics } = await measured(deps, night.evaluation);
  const [all] = metrics.scores ?? [];
  if (!all) {
    const state = row.state === 'stopped' ? 'stopped' : 'incomplete';
    const { clean, expected } = metrics.coverage;
    const cause = `${clean} of ${expected} attempts have a result; no score until all of them have`;
    await deps.schedules.noteNight(night, { cause, regression: false }, state);
    return { state, regression: false };
  }
  const tonight = sideOf(night.evaluation, night.at, row, metrics);
  const before = await deps.schedules.nightBefore(night);
  const previous = before ? await compare(deps, before.evaluation, before.at, tonight) : null;
  const pinned = schedule.config.baseline;
  const baseline = pinned === null ? null : await compare(deps, pinned, null, tonight);
  const regression = [previous, baseline].some((each) => (each?.regressed.length ?? 0) > 0);
  const { tasks, passAt1, observedK, dependable } = all;
  await deps.schedules.noteNight(
    night,
    {
      score: { tasks, k: metrics.k, passAt1, observedK, dependable },
      ...{ previous, baseline, regression, cause: null },
    },
    'done',
  );
  return { state: 'done', regression };
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

async function measured({ ledger }: Deps, id: string) {
  const row = await campaignRow(ledger, id);
  const { tasks, repeat, exhaustedAsFailed } = row.config as AttemptsConfig;
  const metrics = evaluationMetrics({
    attempts: await ledger.attempts(id),
    expected: expectedKeys(id, tasks, repeat),
    k: repeat,
    exhaustedAsFailed,
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
