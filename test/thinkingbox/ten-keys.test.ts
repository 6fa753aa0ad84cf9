/** Five benchmark cases twice, as an evaluation runs them: real ledger, artifacts, sandboxes and checks. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { type EpisodeRunner, runTry } from '../../activities/episode/run-episode.js';
import type { Trajectory } from '../../activities/episode/trajectory.js';
import { Fault } from '../../core/faults.js';
import { attemptKey } from '../../core/keys.js';
import { seedOf } from '../../core/seed.js';
import { goldenPolicy } from '../../suites/thinkingbox/golden.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { readList, type ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { DATA, processDriver, THINKINGBOX, titled } from './given.js';

const given = THINKINGBOX !== undefined && DATA !== undefined;
const EVAL = 'eval/five';
const MODEL = { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const;
const yes = {
  complete: async () => 'Yes',
  unreadable: (found: string) => new Fault('judge', found),
};

describe.skipIf(!given)(titled('an evaluation of five cases, twice each', given), () => {
  let suite: ThinkingBoxSuite;
  let database: TestDatabase;
  let runner: EpisodeRunner;

  beforeAll(async () => {
    suite = await openThinkingBox(process.env);
    database = await startTestDatabase();
    const driver = await processDriver();
    runner = {
      ledger: database.ledger,
      artifacts: createLocalArtifacts(await mkdtemp(join(tmpdir(), 'five-'))),
      suite: async () => suite,
      driver: () => driver,
      policy: async () => goldenPolicy(suite, MODEL),
      people: () => ({ user: yes, judge: yes }),
      host: 'h',
      worker: 'w',
    };
  }, 300_000);
  afterAll(async () => {
    await database?.stop();
    await suite?.close();
  });

  test('gives ten clean keys, trajectories that name the case, and no sandbox left', {
    timeout: 600_000,
  }, async () => {
    const wanted = await readList('examples/thinkingbox-five.yaml');
    const five = (await suite.tasks()).filter(({ id }) => wanted.includes(id));
    const attempts = five.flatMap(({ id, domain, template }) =>
      ['0', '1'].map((slot) => {
        const key = attemptKey(EVAL, id, slot);
        return { key, taskId: id, slot, domain, template, seed: seedOf(42, key) };
      }),
    );
    await database.ledger.claimCampaign({
      id: EVAL,
      kind: 'eval',
      config: {},
      fingerprint: 'sha256:f',
      suite: suite.name,
      suiteDigest: suite.digest,
      parent: null,
    });
    await database.ledger.planAttempts(EVAL, attempts);
    for (const { key, taskId, seed } of attempts) {
      const common = { key, taskId, seed, suite: suite.name, model: MODEL, weightVersion: null };
      const input = { ...common, tryNumber: 1, lastTry: 3, sampling: SAMPLING, limits: EPISODE_LIMITS };
      const summary = await runTry(runner, input, {
        activityAttempt: 1,
        signal: new AbortController().signal,
      });
      expect(summary, key).toMatchObject({ outcome: 'passed', reward: 1, termination: 'done' });
      expect(JSON.stringify(summary).length).toBeLessThanOrEqual(512);
    }
    expect(await database.ledger.counts(EVAL)).toMatchObject({
      planned: 10,
      clean: 10,
      passed: 10,
      faults: {},
    });
    expect(await database.ledger.openSandboxes('h', [])).toEqual([]);
    for (const row of await database.ledger.attempts(EVAL)) {
      const bytes = await runner.artifacts.get(row.trajectory ?? '');
      const trajectory = JSON.parse(new TextDecoder().decode(bytes)) as Trajectory;
      expect(trajectory).toMatchObject({
        task: { id: row.taskId, split: 'benchmark' },
        verdict: { passed: true },
      });
      expect(JSON.stringify(trajectory.messages)).not.toContain('golden');
    }
  });
});
