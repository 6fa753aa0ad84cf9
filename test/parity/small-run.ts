/** A small evaluation that is really played: embedded policy, rule-based user, MCP servers, ledger and artifacts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { Policies } from '../../activities/episode/policies.js';
import { runTry } from '../../activities/episode/run-episode.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { AttemptRow } from '../../core/ledger.js';
import { seedOf } from '../../core/seed.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { type Services, startServices } from '../../workers/plain-loop/services.js';
import { claim, planned } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

export interface SmallRun {
  readonly id: string;
  readonly db: TestDatabase;
  readonly artifacts: ArtifactStore;
  readonly folder: string;
  readonly services: Services;
  attempts(): Promise<readonly AttemptRow[]>;
  stop(): Promise<void>;
}

/** `tasks` tasks, one attempt each, all clean. */
export async function playSmallRun(id: string, tasks: number): Promise<SmallRun> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parity-'));
  const [db, services] = await Promise.all([startTestDatabase(), startServices(folder)]);
  const artifacts = createLocalArtifacts(path.join(folder, 'artifacts'));
  const suite = createDeskbench();
  const policies = new Policies({
    trainerUrl: `${services.trainerUrl}/v1`,
    scripted: () => Promise.reject(new Error('nothing is scripted here')),
  });
  const chat = (kind: 'user' | 'judge', baseUrl: string) =>
    createChatModel({ kind, baseUrl, model: 'rules', apiKeyEnv: null });
  const served = await fetch(`${services.trainerUrl}/trainer/serve`, { method: 'POST', body: '{}' });
  const { weightVersion } = (await served.json()) as { weightVersion: string };
  await db.ledger.claimCampaign(claim(id));
  const refs = (await suite.tasks()).filter(({ split }) => split === 'benchmark').slice(0, tasks);
  await Promise.all(
    refs.map(async ({ id: taskId }) => {
      const attempt = planned(id, taskId, '0');
      await db.ledger.planAttempts(id, [attempt]);
      await runTry(
        {
          ...{ ledger: db.ledger, artifacts, suite: async () => suite, driver: createInlineDriver },
          policy: (input, signal) => policies.of(input, signal),
          reading: (input, signal) => policies.reading(input, signal),
          people: () => ({ user: chat('user', services.userUrl), judge: chat('judge', services.judgeUrl) }),
          ...{ host: 'h', worker: 'w' },
        },
        {
          ...{ key: attempt.key, taskId, suite: suite.name, tryNumber: 1, lastTry: 1 },
          ...{ seed: seedOf(7, attempt.key), model: { kind: 'trainer', checkpoint: 'base' }, weightVersion },
          ...{ sampling: SAMPLING, limits: EPISODE_LIMITS },
        },
        { activityAttempt: 1, signal: new AbortController().signal },
      );
    }),
  );
  return {
    ...{ id, db, artifacts, folder, services },
    attempts: () => db.ledger.attempts(id),
    async stop() {
      services.stop();
      await db.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
