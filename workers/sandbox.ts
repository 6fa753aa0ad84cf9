/** The sandbox worker: episodes, each on a fresh backend. */
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { Configurations } from '../activities/campaign/deps.js';
import { suiteGuard } from '../activities/campaign/suite-guard.js';
import { createEpisodeActivities } from '../activities/episode/activities.js';
import { createPeople } from '../activities/episode/people.js';
import { Policies } from '../activities/episode/policies.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createPgRates } from '../activities/ledger/rates.js';
import { ProviderGates } from '../activities/policy/rate-gate.js';
import { checkEngine, engineSettings, openEngine } from '../activities/sandbox/docker/engine.js';
import { QUEUES, SANDBOX_WORKER_SLOTS } from '../temporal.config.js';
import { sandboxDrivers } from './drivers.js';
import { workerMain } from './main.js';
import { runWorker } from './run-worker.js';
import { scriptedPolicy, suiteRegistry } from './suites.js';
import { keepSweeping } from './sweep.js';

await workerMain(async (environment) => {
  // An engine that is not there is said at once, not by every episode.
  if (environment.isolation === 'docker') {
    const settings = engineSettings(process.env);
    await checkEngine(await openEngine(settings), settings);
  }
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast sandbox worker' });
  const ledger = createPgLedger(pool);
  const configs = new Configurations(ledger);
  const driver = sandboxDrivers(environment.home, environment.isolation);
  const stopSweeping = await keepSweeping(
    { ledger, environment, driver: sandboxDrivers(environment.home) },
    (line) => process.stderr.write(`${line}\n`),
  );
  const suite = suiteRegistry();
  const sameSuite = suiteGuard({ ledger, suite });
  const artifacts = createLocalArtifacts(environment.artifacts);
  const gates = new ProviderGates(createPgRates(pool));
  const gate = (provider: string) => gates.of(provider);
  const people = createPeople({ places: environment, gate });
  const policies = new Policies({
    artifacts,
    trainerUrl: `${environment.trainerUrl}/v1`,
    gate,
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
      people,
      host: environment.host,
      worker: environment.identity,
      config: async (campaign) => {
        await sameSuite(campaign);
        const config = await configs.of(campaign);
        // A model that is not the campaign's is bad usage, said before an episode begins.
        people(config);
        return config;
      },
      parity: (model, signal) => policies.parity(model, signal),
    }),
    maxConcurrentActivityTaskExecutions: SANDBOX_WORKER_SLOTS,
  });
  stopSweeping();
  await pool.end();
});
