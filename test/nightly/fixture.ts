/** A month of nights as a report sees them: two regressions, a failed night, an incomplete one, two that never ran. */
import type { ScheduleData } from '../../activities/report/nightly/data.js';
import type {
  NightComparison,
  NightRecord,
  NightRow,
  NightState,
  ScheduleRow,
} from '../../core/nightly/schedule.js';
import type { Estimate } from '../../core/report-data.js';

const around = (value: number, half: number): Estimate => ({
  value,
  low: Math.max(-1, value - half),
  high: Math.min(1, value + half),
});
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;

export const SCHEDULE: ScheduleRow = {
  name: 'nightly',
  config: {
    timing: { cron: '0 2 * * *', timezone: 'Europe/Berlin', jitterMs: 600_000, catchUpMs: 3_600_000 },
    evaluation: {
      kind: 'eval',
      suite: 'deskbench',
      suiteDigest: digest('a'),
      tasks: Array.from({ length: 48 }, (_, index) => `bank_benchmark:fraud-${index}`),
      seed: 42,
      repeat: 20,
      model: { kind: 'trainer', checkpoint: { run: 'train/run-1', step: 'latest' } },
    } as unknown as ScheduleRow['config']['evaluation'],
    lanes: 48,
    baseline: 'eval/run-1-base',
    webhookEnv: 'NIGHTLY_HOOK',
  },
  programVersion: '0.1.0',
  createdAt: '2026-10-31T12:00:00.000Z',
  deletedAt: null,
};

const UNSCORED: Readonly<Record<number, readonly [NightState, string]>> = {
  9: [
    'failed',
    'train/run-1: no checkpoint that verifies; 3 do not verify: manifest.json: expected a manifest',
  ],
  17: ['incomplete', '955 of 960 attempts have a result; no score until all of them have'],
};
const NEVER = [12, 13];
const FELL = [15, 24];

export function month(): ScheduleData {
  const nights: NightRow[] = [];
  let last = 0.5;
  for (let day = 1; day <= 30; day++) {
    if (NEVER.includes(day)) continue;
    const at = `2026-11-${String(day).padStart(2, '0')}T01:00:00.000Z`;
    const level = 0.42 + day * 0.009 + 0.02 * Math.sin(day * 2.1) - (FELL.includes(day) ? 0.17 : 0);
    const [state, cause] = UNSCORED[day] ?? (['done', null] as const);
    nights.unshift(nightOf(at, state, recordOf(day, at, level, last, cause)));
    if (state === 'done') last = level;
  }
  return { schedule: SCHEDULE, nights, missed: NEVER.map((day) => `2026-11-${day}T01:04:00.000Z`) };
}

function recordOf(day: number, at: string, level: number, last: number, cause: string | null): NightRecord {
  if (cause !== null) return { cause, model: 'train/run-1@25', regression: false };
  const regression = FELL.includes(day);
  const changed = day === 20;
  return {
    model: `train/run-1@${5 * day}`,
    programVersion: '0.1.0',
    suiteDigest: digest(day < 20 ? 'a' : 'b'),
    score: {
      ...{ tasks: 48, k: 20, dependable: Math.round(level * 18) },
      ...{ passAt1: around(level, 0.06), observedK: around(level * 0.36, 0.12) },
    },
    previous: against(`eval/before-${at}`, level - last, regression, !changed),
    baseline: against('eval/run-1-base', level - 0.4, false, day < 20),
    changes: changed ? [`suite deskbench is not the pinned one: ${digest('a')} → ${digest('b')}`] : [],
    regression,
    ...(regression
      ? {
          webhook: {
            state: day === 24 ? 'failed' : 'sent',
            status: day === 24 ? null : 200,
            error: day === 24 ? 'the address of NIGHTLY_HOOK cannot be reached (ECONNREFUSED)' : null,
            at,
          },
        }
      : {}),
    cause: null,
  };
}

function against(evaluation: string, difference: number, fell: boolean, sameSuite: boolean): NightComparison {
  return {
    ...{ evaluation, at: null, tasks: 48, unpaired: sameSuite ? 0 : 3, sameSuite },
    ...{ passAt1: around(difference, 0.07), observedK: around(difference / 2, 0.1) },
    ...{ gained: 2, lost: fell ? 9 : 1, lostTasks: fell ? ['bank_benchmark:fraud-02'] : [] },
    regressed: fell ? ['pass@1'] : [],
  };
}

function nightOf(at: string, state: NightState, record: NightRecord): NightRow {
  const evaluation = `eval/nightly-${at.slice(0, 10)}-010000`;
  const endedAt = new Date(Date.parse(at) + 2_900_000).toISOString();
  return { schedule: 'nightly', at, evaluation, state, record, startedAt: at, endedAt };
}
