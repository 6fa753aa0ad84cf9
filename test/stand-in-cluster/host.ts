/**
 * A stand-in for a GPU host: a worker of its own queue in a process of its own, with the real activities. Folders,
 * models and inputs are looked at for real; GPUs, packages and the clock are what its mood says.
 *
 *   node dist/test/stand-in-cluster/host.js mood.json        TEMPORAL_ADDRESS and STEADFAST_HOME as for every worker
 */
import { readFileSync } from 'node:fs';
import { createHostActivities } from '../../activities/host/activities.js';
import { machineFacts } from '../../activities/host/facts.js';
import type { HostFacts, HostQuestions } from '../../core/cluster.js';
import { hostQueue } from '../../temporal.config.js';
import { hostEnvironment } from '../../workers/host-environment.js';
import { workerMain } from '../../workers/main.js';
import { runWorker } from '../../workers/run-worker.js';
import type { Mood } from './mood.js';

const mood = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Mood;
const place = (folder: string): string => mood.places[folder] ?? folder;

await workerMain(async (environment) => {
  const facts = machineFacts({ host: mood.host, home: environment.home, env: mood.proxies ?? {} });
  await runWorker(environment, {
    taskQueue: hostQueue(mood.host),
    activities: createHostActivities({
      host: mood.host,
      place,
      compose: async () => {
        const { unknownSetting } = mood;
        if (unknownSetting === undefined) return { digest: `sha256:${'c'.repeat(64)}`, refused: {} };
        return { digest: null, refused: { [unknownSetting]: 'no such setting' } };
      },
      facts: async (questions, signal) => {
        if (mood.dies) process.kill(process.pid, 'SIGKILL');
        return disguised(questions, await facts(placed(questions), signal));
      },
    }),
    maxConcurrentActivityTaskExecutions: 8,
  });
}, hostEnvironment);

/** The same questions where things really lie; this machine has no Python with Verl to be asked. */
function placed({ folders, inputs, dataSets, model, ...questions }: HostQuestions): HostQuestions {
  return {
    ...questions,
    python: null,
    folders: folders.map(place),
    inputs: inputs.map(place),
    dataSets: dataSets.map(place),
    model: model && { ...model, folder: place(model.folder) },
  };
}

function disguised(questions: HostQuestions, facts: HostFacts): HostFacts {
  const ahead = mood.clockAheadMs ?? 0;
  const named = <T>(names: readonly string[], of: Readonly<Record<string, T>>) =>
    Object.fromEntries(names.map((name) => [name, of[place(name)]!]));
  const folders = Object.entries(named(questions.folders, facts.folders)).map(([name, folder]) => [
    name,
    { ...folder, ...(mood.freeBytes === undefined ? {} : { freeBytes: mood.freeBytes }) },
  ]);
  return {
    ...facts,
    startedAt: facts.startedAt + ahead,
    endedAt: facts.endedAt + ahead,
    gpus: mood.gpus.map((index) => ({ index, name: 'NVIDIA H100 80GB HBM3', memoryMiB: 81_559 })),
    gpuProblem: null,
    packages: mood.packages,
    files: mood.files,
    folders: Object.fromEntries(folders),
    inputs: named(questions.inputs, facts.inputs),
    rows: named(questions.dataSets, facts.rows),
  };
}
