/** Replay of a real benchmark case, on official servers: needs a checkout. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { replayEpisode } from '../../activities/episode/replay.js';
import { storeTrajectory, type Trajectory } from '../../activities/episode/trajectory.js';
import { goldenPolicy } from '../../suites/thinkingbox/golden.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { readList } from '../../suites/thinkingbox/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { DATA, play, processDriver, THINKINGBOX, titled } from '../thinkingbox/given.js';

const given = THINKINGBOX !== undefined && DATA !== undefined;
const MODEL = { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const;

test.skipIf(!given)(
  titled('golden calls of a case, again on a fresh backend', given),
  { timeout: 600_000 },
  async () => {
    const suite = await openThinkingBox(process.env);
    try {
      const [id = ''] = await readList('examples/thinkingbox-five.yaml');
      const driver = await processDriver();
      const task = await suite.load(id);
      const played = await play({ task, policy: goldenPolicy(suite, MODEL), driver });
      const artifacts = createLocalArtifacts(await mkdtemp(join(tmpdir(), 'replay-thinkingbox-')));
      const common = { key: `eval/t · ${id} · 0`, taskId: id, suite: suite.name, seed: '1', model: MODEL };
      const input = {
        ...common,
        weightVersion: null,
        tryNumber: 1,
        lastTry: 1,
        sampling: SAMPLING,
        limits: EPISODE_LIMITS,
      };
      const digest = await storeTrajectory(artifacts, input, task.ref, played);
      const trajectory = JSON.parse(new TextDecoder().decode(await artifacts.get(digest))) as Trajectory;
      const replay = await replayEpisode({
        trajectory,
        task: await suite.load(id),
        driver,
        sandboxName: 'replay-thinkingbox',
        toolMs: EPISODE_LIMITS.toolMs,
        signal: new AbortController().signal,
      });
      expect(replay).toMatchObject({ identical: true, differences: [] });
    } finally {
      await suite.close();
    }
  },
);
