/** What the machine offers these tests: checkouts named by the environment, or a clear word why they are skipped. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PlayedEpisode, playEpisode } from '../../activities/episode/play.js';
import type { SimulatedUser } from '../../activities/episode/user.js';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import type { Policy } from '../../core/policy.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import type { Judge, Task } from '../../core/suite.js';
import { prepareThinkingBox } from '../../suites/thinkingbox/python.js';

export const THINKINGBOX = process.env.THINKINGBOX_DIR;
/** The official framework where a checkout is given, else our stand-in for it. */
export const FRAMEWORK = THINKINGBOX ?? fileURLToPath(new URL('mini/framework', import.meta.url));
export const DATA = process.env.THINKINGBOX_DATA_DIR;
export const SKIPPED = 'skipped without THINKINGBOX_DIR and THINKINGBOX_DATA_DIR, see docs/thinkingbox.md';

/** A title that says why its tests did not run. */
export function titled(title: string, given: boolean): string {
  return given ? title : `${title} (${SKIPPED})`;
}

export function preparedPython(): Promise<string> {
  return prepareThinkingBox({ home: resolve(process.env.STEADFAST_HOME ?? '.steadfast') });
}

export const YES: Judge = { ask: async () => true, complete: async () => 'Yes' };

export async function processDriver(): Promise<SandboxDriver> {
  return createProcessDriver(await mkdtemp(join(tmpdir(), 'thinkingbox-')));
}

let played = 0;

/** One whole episode, as a worker plays it. Nobody answers the agent: scripted policies ask nothing. */
export function play(parts: {
  readonly task: Task;
  readonly policy: Policy;
  readonly driver: SandboxDriver;
  readonly judge?: Judge;
  readonly user?: SimulatedUser;
}): Promise<PlayedEpisode> {
  played += 1;
  const { task, policy, driver, judge = YES, user = { answer: async () => 'i do not know' } } = parts;
  return playEpisode({
    task,
    policy,
    driver,
    sandboxName: `thinkingbox-${process.pid}-${played}`,
    user,
    judge: () => judge,
    sampling: { temperature: 1, topK: 0, topP: 1 },
    limits: {
      tokensPerCall: 8_192,
      tokensPerEpisode: 106_496,
      promptTokens: 26_624,
      userTurns: 10,
      agentActions: 1_000,
      episodeMs: 600_000,
      messageMs: 60_000,
      toolMs: 60_000,
    },
    seed: '1',
    signal: new AbortController().signal,
  });
}
