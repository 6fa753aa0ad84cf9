/** What a step's row records of its sampling, and of the time that each stage took. */
import type { TrainConfig } from '../../core/campaign.js';
import type { AttemptRow, GroupRow } from '../../core/ledger.js';
import type { StageSeconds } from '../../core/orchestration.js';
import type { StepMetrics } from '../../core/step-metrics.js';

/** Metrics that are known when sampling has ended. Rewards are of all clean episodes, zero-variance groups included. */
export function samplingMetrics(
  config: TrainConfig,
  groups: readonly GroupRow[],
  rows: readonly AttemptRow[],
): StepMetrics {
  const clean = rows.filter((row) => row.state === 'clean');
  const complete = groups.filter(({ state }) => state !== 'incomplete');
  const zero = groups.filter(({ state }) => state === 'zero_variance').length;
  return {
    reward: mean(clean.map((row) => row.reward ?? 0)),
    zeroVarianceShare: complete.length === 0 ? null : zero / complete.length,
    refillGroups: Math.max(0, groups.length - config.shape.groups),
    refillRounds: Math.max(0, ...groups.map(({ round }) => round)),
    groupsStarted: groups.length,
    informativeGroups: groups.filter(({ state }) => state === 'informative').length,
    systemErrors: rows.reduce((sum, row) => sum + triesLost(row), 0),
    episodes: clean.length,
    responseTokens: mean(clean.map((row) => row.usage?.policySampledTokens ?? 0)),
    truncatedShare: mean(clean.map((row) => ((row.truncatedTurns ?? 0) > 0 ? 1 : 0))),
  };
}

export function stageMetrics(seconds: StageSeconds): StepMetrics {
  return {
    secondsSampling: seconds.sampling + seconds.batch,
    secondsUpdate: seconds.update,
    secondsPublish: seconds.publish,
    secondsVerify: seconds.verify,
    secondsCheckpoint: seconds.checkpoint,
  };
}

/** What a person stopped was not lost to anything. */
function triesLost({ tries, stopped = 0, state }: AttemptRow): number {
  return tries - stopped - (state === 'clean' ? 1 : 0);
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
