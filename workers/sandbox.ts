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
import { ProviderGates } from '../activities/policy/rate-gate.js';
import {
  checkEngine,
  engineMachine,
  engineSettings,
  openEngine,
} from '../activities/sandbox/docker/engine.js';
import { poolQueue } from '../core/sharing.js';
import { QUEUES } from '../temporal.config.js';
import { sandboxDrivers } from './drivers.js';
import { createLeftovers } from './leftovers.js';
import { thisMachine } from './machine.js';
import { workerMain } from './main.js';
import { runWorker } from './run-worker.js';
import { requireSameStore } from './same-store.js';
import { slotOptions, slotsOf } from './slots.js';
import { scriptedPolicy, suiteRegistry } from './suites.js';
import { keepSweeping } from './sweep.js';

await workerMain(async (environment) => {
  // An engine that is not there is said at once, not by every episode.
  let machine = thisMachine();
  if (environment.isolation === 'docker') {
    const settings = engineSettings(process.env);
    const engine = await openEngine(settings);
    await checkEngine(engine, settings);
    machine = await engineMachine(engine);
  }
  const computed = slotsOf(environment.isolation, machine, environment.workersHere);
  const { options, said } = slotOptions(environment.slots, computed);
  const taskQueue = poolQueue(QUEUES.sandbox, environment.pool);
  process.stdout.write(`sandbox worker ${environment.identity}, queue ${taskQueue}: ${said}\n`);
  const pool = createPool(environment.databaseUrl, { applicationName: 'steadfast sandbox worker' });
  await requireSameStore(createStoreClaims(pool), environment);
  const ledger = createPgLedger(pool);
  const configs = new Configurations(ledger);
  const driver = sandboxDrivers(environment.home, environment.isolation);
  // What is to be ended is ended by the driver that made it, not by the one that the operator demands now.
  const ending = { ledger, driver: sandboxDrivers(environment.home) };
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const stopSweeping = await keepSweeping({ ...ending, environment }, say);
  const leftovers = createLeftovers({ ...ending, say });
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
    taskQueue,
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
      leftBehind: (sandbox) => leftovers.add(sandbox),
      config: async (campaign) => {
        await sameSuite(campaign);
        const config = await configs.of(campaign);
        // A model that is not the campaign's is bad usage, said before an episode begins.
        people(config);
        return config;
      },
      parity: (model, signal) => policies.parity(model, signal),
    }),
    ...options,
  });
  stopSweeping();
  leftovers.stop();
  await pool.end();
});
