/** The GPU worker: the activities beside one trainer. One host, one queue, few slots. */
import path from 'node:path';
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { createStoreClaims } from '../activities/ledger/artifact-store.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createTrainerActivities } from '../activities/trainer/activities.js';
import { createTrainerClient } from '../activities/trainer/client.js';
import { QUEUES } from '../temporal.config.js';
import { leaving } from './leaving.js';
import { workerMain } from './main.js';
import { runWorker } from './run-worker.js';
import { requireSameStore } from './same-store.js';

await workerMain(async (environment) => {
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast gpu worker' });
  await requireSameStore(createStoreClaims(pool), environment);
  await runWorker(environment, {
    taskQueue: QUEUES.gpu,
    activities: createTrainerActivities({
      ledger: createPgLedger(pool),
      artifacts: createLocalArtifacts(environment.artifacts),
      trainer: createTrainerClient({ url: environment.trainerUrl }),
      checkpoints: path.join(environment.home, 'checkpoints'),
    }),
    interceptors: { activity: [leaving] },
    maxConcurrentActivityTaskExecutions: 4,
  });
  // Not the pool's end (workers/pipeline.ts).
});
