/** `--set` of a fork: what is refused before anything is started. */
import { expect, test } from 'vitest';
import { withSettings } from '../../cli/replay/settings.js';
import { episodeClock } from '../../cli/run/resolve.js';
import type { TrainConfig } from '../../core/campaign.js';
import {
  ACTIVITIES,
  CAPACITY_WAIT_MS,
  EPISODE_LIMITS,
  MOST_EPISODE_MS,
  SAMPLING,
  STEP,
  UPDATE_PLAN,
} from '../../temporal.config.js';

const tasks = Array.from({ length: STEP.groups }, (_, index) => `t:${index}`);
const parts = { shape: STEP, plan: UPDATE_PLAN, limits: EPISODE_LIMITS, sampling: SAMPLING };
const config = {
  kind: 'train',
  tasks,
  ...parts,
  steps: 5,
  saveEvery: 1,
  maxTries: 3,
} as unknown as TrainConfig;

test('an episode gets no longer clock than the activity that plays it', () => {
  const most = MOST_EPISODE_MS;
  expect(withSettings(config, [`episodeMs=${most / 2}`]).limits.episodeMs).toBe(most / 2);
  expect(() => withSettings(config, [`limits.episodeMs=${most + 1}`])).toThrow(
    `limits.episodeMs: expected at most ${most}`,
  );
  expect(ACTIVITIES.episode.startToCloseTimeout).toBeGreaterThan(most + CAPACITY_WAIT_MS);
});

test('where messages may take longer than by default, an episode has what they need in all, a day at most', () => {
  expect(episodeClock({})).toBe(EPISODE_LIMITS.episodeMs);
  expect(episodeClock({ messageMs: 1_000 })).toBe(EPISODE_LIMITS.episodeMs);
  const few = { messageMs: 1_800_000, userTurns: 2, agentActions: 5, toolMs: 60_000 };
  expect(episodeClock(few)).toBe(7 * 1_800_000 + 5 * 60_000);
  expect(episodeClock({ messageMs: 1_800_000 })).toBe(MOST_EPISODE_MS);
});
