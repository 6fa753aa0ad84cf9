/** `--set` of a fork: what is refused before anything is started. */
import { expect, test } from 'vitest';
import { withSettings } from '../../cli/replay/settings.js';
import type { TrainConfig } from '../../core/campaign.js';
import { EPISODE_LIMITS, SAMPLING, STEP, UPDATE_PLAN } from '../../temporal.config.js';

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
  const { episodeMs } = EPISODE_LIMITS;
  expect(withSettings(config, [`episodeMs=${episodeMs / 2}`]).limits.episodeMs).toBe(episodeMs / 2);
  expect(() => withSettings(config, [`limits.episodeMs=${episodeMs + 1}`])).toThrow(
    `--set limits.episodeMs: expected at most ${episodeMs}`,
  );
});
