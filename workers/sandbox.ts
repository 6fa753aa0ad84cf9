/** The sandbox worker: episodes, each on a fresh backend. */
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { Configurations } from '../activities/campaign/deps.js';
import { suiteGuard } from '../activities/campaign/suite-guard.js';
import { createEpisodeActivities } from '../activities/episode/activities.js';
import { Policies } from '../activities/episode/policies.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createChatModel } from '../activities/policy/chat-model.js';
import { QUEUES, SANDBOX_WORKER_SLOTS } from '../temporal.config.js';
import { reapOpenSandboxes, sandboxDrivers } from './drivers.js';
import { workerMain } from './main.js';
import { runWorker } from './run-worker.js';
import { scriptedPolicy, suiteRegistry } from './suites.js';

await workerMain(async (environment) => {
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast sandbox worker' });
  const ledger = createPgLedger(pool);
  const configs = new Configurations(ledger);
  const driver = sandboxDrivers(environment.home, environment.isolation);
  // What is to be ended is ended by the driver that made it.
  await reapOpenSandboxes(ledger, environment, sandboxDrivers(environment.home));
  const suite = suiteRegistry();
  const sameSuite = suiteGuard({ ledger, suite });
  const artifacts = createLocalArtifacts(environment.artifacts);
  const policies = new Policies({
    artifacts,
    trainerUrl: `${environment.trainerUrl}/v1`,
    scripted: async (name, settings) => scriptedPolicy(await suite(name), settings),
  });
  await runWorker(environment, {
    taskQueue: QUEUES.sandbox,
    activities: createEpisodeActivities({
      ledger,
      artifacts,
      suite,
      driver,
      policy: (input, signal) => policies.of(input, signal),
      reading: (input, signal) => policies.reading(input, signal),
      user: createChatModel({ kind: 'user', ...environment.user }),
      judge: createChatModel({ kind: 'judge', ...environment.judge }),
      host: environment.host,
      worker: environment.identity,
      config: async (campaign) => {
        await sameSuite(campaign);
        return configs.of(campaign);
      },
      parity: (model, signal) => policies.parity(model, signal),
    }),
    maxConcurrentActivityTaskExecutions: SANDBOX_WORKER_SLOTS,
  });
  await pool.end();
});
