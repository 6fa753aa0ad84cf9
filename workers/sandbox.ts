/** The sandbox worker: episodes, each on a fresh backend. */
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { Configurations } from '../activities/campaign/deps.js';
import { suiteGuard } from '../activities/campaign/suite-guard.js';
import { createEpisodeActivities } from '../activities/episode/activities.js';
import { createPeople } from '../activities/episode/people.js';
import { Policies } from '../activities/episode/policies.js';
import { createStoreClaims } from '../activities/ledger/artifact-store.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createPgRates } from '../activities/ledger/rates.js';
import { createPgServings } from '../activities/ledger/servings.js';
import { ProviderGates } from '../activities/policy/rate-gate.js';
import { servedVersion } from '../activities/serving/control.js';
import { servedAt } from '../activities/serving/served-at.js';
import { poolQueue } from '../core/sharing.js';
import { QUEUES } from '../temporal.config.js';
import { capacity } from './capacity.js';
import { sandboxDrivers } from './drivers.js';
import { createLeftovers } from './leftovers.js';
import { tell } from './log.js';
import { workerMain } from './main.js';
import { countingStarts } from './metrics.js';
import { runWorker } from './run-worker.js';
import { requireSameStore } from './same-store.js';
import { scriptedPolicy, suiteRegistry } from './suites.js';
import { keepSweeping } from './sweep.js';
import { warmOf } from './warm.js';

await workerMain(async (environment) => {
  const { options, said, slots, machine } = await capacity(environment, tell);
  const taskQueue = poolQueue(QUEUES.sandbox, environment.pool);
  process.stdout.write(`sandbox worker ${environment.identity}, queue ${taskQueue}: ${said}\n`);
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast sandbox worker' });
  await requireSameStore(createStoreClaims(pool), environment);
  const ledger = createPgLedger(pool);
  const configs = new Configurations(ledger);
  // What is to be ended is ended by the driver that made it, not by the one that the operator demands now.
  const ending = { ledger, driver: sandboxDrivers(environment.home) };
  const stopSweeping = await keepSweeping({ ...ending, environment }, tell);
  const leftovers = createLeftovers({ ...ending, say: tell });
  const leftBehind: typeof leftovers.add = (sandbox) => leftovers.add(sandbox);
  const { home, isolation, host, identity, workersHere } = environment;
  const driver = sandboxDrivers(home, isolation, {
    ...{ ledger, host, worker: identity, leftBehind, say: tell },
    most: environment.warm ?? warmOf(slots, machine, workersHere),
    // What a start waits for is mostly the engine.
    atOnce: machine.cpus + 1,
  });
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
    served: servedAt(createPgServings(pool)),
    scripted: async (name, settings) => scriptedPolicy(await suite(name), settings),
  });
  await runWorker(environment, {
    taskQueue,
    activities: createEpisodeActivities({
      ledger,
      artifacts,
      suite,
      driver: (needed) => countingStarts(driver(needed)),
      policy: (input, signal) => policies.of(input, signal),
      reading: (input, signal) => policies.reading(input, signal),
      people,
      host: environment.host,
      worker: environment.identity,
      leftBehind,
      config: async (campaign) => {
        await sameSuite(campaign);
        const config = await configs.of(campaign);
        // A model that is not the campaign's is bad usage, said before an episode begins.
        people(config);
        return config;
      },
      parity: async (model, signal, campaign) =>
        policies.parity(model, signal, await servedVersion(ledger, campaign, model)),
    }),
    ...options,
  });
  await driver('docker').close?.();
  stopSweeping();
  leftovers.stop();
  await pool.end();
});
