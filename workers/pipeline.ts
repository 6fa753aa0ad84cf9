/** The pipeline worker: all workflows, and the activities that read and write the ledger. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { createCampaignActivities } from '../activities/campaign/activities.js';
import { createStoreClaims } from '../activities/ledger/artifact-store.js';
import { createPgGpuHosts } from '../activities/ledger/gpu-hosts.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createPgSchedules } from '../activities/ledger/schedules.js';
import { createPgServings } from '../activities/ledger/servings.js';
import { createNightlyActivities } from '../activities/nightly/activities.js';
import { ownVersion } from '../activities/report/collect/collect.js';
import { createServingControl } from '../activities/serving/control.js';
import { createRunHosts } from '../activities/verl/hosts.js';
import { QUEUES } from '../temporal.config.js';
import { heartbeats } from './heartbeats.js';
import { leaving } from './leaving.js';
import { workerMain } from './main.js';
import { programFacts } from './program-facts.js';
import { runWorker } from './run-worker.js';
import { requireSameStore } from './same-store.js';
import { suiteRegistry } from './suites.js';
import { watchRuns } from './watch-runs.js';

await workerMain(async (environment) => {
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast pipeline worker' });
  await requireSameStore(createStoreClaims(pool), environment);
  const gpuHosts = createPgGpuHosts(pool);
  const deps = {
    ledger: createPgLedger(pool),
    artifacts: createLocalArtifacts(environment.artifacts),
    suite: suiteRegistry(),
    reports: path.join(environment.home, 'reports'),
    program: programFacts(),
  };
  if (environment.metricsAddress !== undefined) watchRuns(pool);
  await runWorker(environment, {
    taskQueue: QUEUES.pipeline,
    workflowBundle: { codePath: fileURLToPath(new URL('../workflow-bundle.js', import.meta.url)) },
    activities: {
      ...createCampaignActivities(deps),
      ...createRunHosts({ ledger: deps.ledger, gpuHosts }),
      ...createServingControl({ ledger: deps.ledger, gpuHosts, servings: createPgServings(pool) }),
      ...createNightlyActivities({
        ...deps,
        schedules: createPgSchedules(pool),
        programVersion: ownVersion(),
        environment: process.env,
      }),
    },
    interceptors: { activity: [(context) => heartbeats(context), leaving] },
    maxCachedWorkflows: 100,
  });
  // Not the pool's end: a statement of an activity that was given back may still wait, e.g. behind a lock.
});
