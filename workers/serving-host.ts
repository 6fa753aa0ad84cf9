/** A host's one server of weights, or one job of a trainer: the slot of its queue, and the sweep of what earlier workers have left. */
import os from 'node:os';
import path from 'node:path';
import type { WorkerOptions } from '@temporalio/worker';
import { createLocalArtifacts } from '../activities/artifacts/local.js';
import { HashCache } from '../activities/host/hash-cache.js';
import { createStoreClaims } from '../activities/ledger/artifact-store.js';
import { createPgGpuHosts } from '../activities/ledger/gpu-hosts.js';
import { createPgJobs } from '../activities/ledger/jobs.js';
import { createPool } from '../activities/ledger/pool.js';
import { createPgLedger } from '../activities/ledger/postgres.js';
import { createPgServings } from '../activities/ledger/servings.js';
import { createServingActivities } from '../activities/serving/activities.js';
import type { KeeperDeps } from '../activities/serving/deps.js';
import { endServers } from '../activities/serving/keeper.js';
import type { HostTools } from '../activities/serving/process.js';
import { sweepServers } from '../activities/serving/sweep.js';
import { createJobActivities } from '../activities/verl/activities.js';
import type { JobDeps } from '../activities/verl/deps.js';
import { sweepJobs } from '../activities/verl/keeper.js';
import { hideSecrets } from '../core/secrets.js';
import { withLock } from '../infra/setup/lock.mjs';
import { freePort } from '../infra/stack/free-port.js';
import { boundLog, openLog, sizeOf, tail } from '../infra/stack/logs.js';
import { claimPort } from '../infra/stack/port-claims.js';
import { JOB, SERVING, serverQueue } from '../temporal.config.js';
import type { HostEnvironment } from './host-environment.js';
import { tell } from './log.js';
import { requireSameStore } from './same-store.js';
import type { ServingEnvironment } from './serving-environment.js';

/** How often the ledger hears of the host, and what is left behind is looked for. */
const SEEN_EVERY_MS = 60_000;

type Serving = Pick<
  WorkerOptions,
  'activities' | 'maxConcurrentActivityTaskExecutions' | 'shutdownGraceTime'
> & {
  readonly taskQueue: string;
};

/** Runs `work` as the only worker of this machine that keeps a server on this set of GPUs. */
export async function asServingHost(
  { gpuHost: host, home, identity }: HostEnvironment,
  environment: ServingEnvironment,
  work: (serving: Serving) => Promise<void>,
): Promise<void> {
  const pool = createPool(environment.databaseUrl, { applicationName: `steadfast gpu host ${host}` });
  const { artifacts, command, address, programs } = environment;
  await requireSameStore(createStoreClaims(pool), { artifacts, host: os.hostname() });
  const jobs = createPgJobs(pool);
  const deps: KeeperDeps = {
    servings: createPgServings(pool),
    artifacts: createLocalArtifacts(artifacts),
    ...{ host, address, command, programs, say: tell },
    folder: path.join(home, 'serving', host),
    env: {},
    hashes: new HashCache(path.join(home, 'model-hashes.json')),
    tools: hostTools(home),
    times: SERVING,
    busy: async () => (await createPgGpuHosts(pool).jobs()).get(host),
  };
  const job: JobDeps = {
    ...{ ledger: createPgLedger(pool), jobs, host, say: tell, times: JOB },
    ...{ env: deps.env, hashes: deps.hashes, tools: deps.tools },
    folder: path.join(home, 'jobs', host),
    reports: path.join(home, 'reports'),
    endServers: () => endServers(deps, 'reaped'),
  };
  // The GPUs are the machine's, whatever home a worker has.
  const lock = path.join(os.tmpdir(), `steadfast-gpu-${os.userInfo().uid}`, `${host}.lock`);
  const waiting = (holder: number) =>
    tell(`host ${host}: process ${holder} keeps its server; waiting for its end`);
  await withLock(
    lock,
    async () => {
      const stop = await keepSeen(deps, job, identity);
      await work({
        taskQueue: serverQueue(host),
        activities: { ...createServingActivities(deps), ...createJobActivities(job) },
        maxConcurrentActivityTaskExecutions: 1,
        // Whoever keeps something is never done: a worker that goes away leaves it to the next at once.
        shutdownGraceTime: 0,
      });
      stop();
    },
    waiting,
  );
  await pool.end();
}

function hostTools(home: string): HostTools {
  return {
    openLog,
    boundLog,
    sizeOf,
    // Last words go to the ledger; a job has the worker's own environment, keys among it.
    tail: (file, from) => hideSecrets(tail(file, from)),
    async freePort() {
      for (;;) {
        const port = await freePort();
        if (claimPort(home, port)) return port;
      }
    },
  };
}

/** The first time it must succeed; later it may be the ledger's turn to be away. */
async function keepSeen(deps: KeeperDeps, job: JobDeps, identity: string): Promise<() => void> {
  const look = async (starting: boolean): Promise<void> => {
    await deps.servings.hostSeen(deps.host, identity);
    const reaped = await sweepServers(deps, { starting });
    const jobs = await sweepJobs(job);
    if (jobs.length > 0) deps.say(`ended jobs of runs that are not under way: ${jobs.join(', ')}`);
    if (reaped.length > 0)
      deps.say(`ended ${reaped.length} servers that were left behind: ${reaped.join(', ')}`);
  };
  await look(true);
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    look(false)
      .catch((error: unknown) => deps.say(`servers were not swept: ${String(error)}`))
      .finally(() => {
        looking = false;
      });
  }, SEEN_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
