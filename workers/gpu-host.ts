/**
 * The worker of one GPU host: what can be asked of the host itself, on a queue of its own (`hostQueue`); and, where it
 * is told of the ledger, its one server of weights (`serverQueue`).
 */
import { createHostActivities } from '../activities/host/activities.js';
import { machineFacts } from '../activities/host/facts.js';
import { hostQueue } from '../temporal.config.js';
import { hostEnvironment } from './host-environment.js';
import { workerMain } from './main.js';
import { runWorker } from './run-worker.js';
import { asServingHost } from './serving-host.js';

await workerMain(async (environment) => {
  const questions = {
    taskQueue: hostQueue(environment.gpuHost),
    activities: createHostActivities({
      host: environment.gpuHost,
      facts: machineFacts({ host: environment.gpuHost, home: environment.home }),
    }),
    // Questions of a preflight are short, and one of them must not wait for a model to be hashed.
    maxConcurrentActivityTaskExecutions: 8,
  };
  if (environment.serving === null) await runWorker(environment, questions);
  else {
    await asServingHost(environment, environment.serving, (server) =>
      runWorker(environment, questions, server),
    );
  }
}, hostEnvironment);
