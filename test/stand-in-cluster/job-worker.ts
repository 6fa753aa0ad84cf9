/** The worker of a GPU host without the questions that its stand-in answers: what keeps servers and jobs. */
import { hostEnvironment } from '../../workers/host-environment.js';
import { workerMain } from '../../workers/main.js';
import { runWorker } from '../../workers/run-worker.js';
import { asServingHost } from '../../workers/serving-host.js';

await workerMain(async (environment) => {
  if (environment.serving === null) throw new Error('no DATABASE_URL');
  await asServingHost(environment, environment.serving, (server) => runWorker(environment, server));
}, hostEnvironment);
