/** A cluster that is none: one process a host, each a worker of its own queue, ended by its process id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isPolled } from '../../cli/preflight/ask.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { hostQueue } from '../../temporal.config.js';
import { makeModel, type ReferenceFile } from './material.js';
import type { Mood } from './mood.js';

const START_LIMIT_MS = 120_000;
/** 40 rows. */
const DATA_SET = join(ROOT, 'test/stand-in-cluster/tasks-40.parquet');

/** Healthy hosts for the run file: one storage for checkpoints and data, a copy of the model each. */
export function healthyMoods(folder: string, { trainer }: ReferenceFile): readonly Mood[] {
  const shared = join(folder, 'shared');
  mkdirSync(join(shared, 'checkpoints'), { recursive: true });
  const inputs = [trainer.data.train, trainer.data.validation, trainer.agentLoop.config];
  const lies = (name: string): string => join(shared, basename(name));
  for (const name of inputs) {
    if (name.endsWith('.parquet')) copyFileSync(DATA_SET, lies(name));
    else writeFileSync(lies(name), name);
  }
  return trainer.hosts.map(({ name, gpus }): Mood => {
    const model = join(folder, name, 'model');
    makeModel(model);
    return {
      host: name,
      places: {
        [trainer.model]: model,
        [trainer.checkpoints]: join(shared, 'checkpoints'),
        ...Object.fromEntries(inputs.map((input) => [input, lies(input)])),
      },
      gpus: typeof gpus === 'number' ? Array.from({ length: gpus }, (_, index) => index) : gpus,
      packages: trainer.pins.packages,
      files: Object.fromEntries(trainer.pins.files.map(({ file, sha256 }) => [file, sha256])),
    };
  });
}

export class Cluster {
  readonly #hosts = new Map<string, ChildProcess>();
  readonly #folder: string;
  readonly #client: Client;
  readonly #address: string;

  constructor(options: { readonly folder: string; readonly client: Client; readonly address: string }) {
    this.#folder = options.folder;
    this.#client = options.client;
    this.#address = options.address;
  }

  /** Process ids of the hosts that run. */
  get pids(): readonly number[] {
    return [...this.#hosts.values()].map(({ pid }) => pid!);
  }

  /** Starts the hosts, and resolves when Temporal hears each of them. */
  async start(moods: readonly Mood[]): Promise<void> {
    for (const mood of moods) {
      const file = join(this.#folder, `${mood.host}.json`);
      writeFileSync(file, JSON.stringify(mood));
      const program = join(ROOT, 'dist/test/stand-in-cluster/host.js');
      const env = {
        ...process.env,
        TEMPORAL_ADDRESS: this.#address,
        STEADFAST_HOME: join(this.#folder, mood.host),
        STEADFAST_GPU_HOST: mood.host,
      };
      this.#hosts.set(mood.host, spawn(process.execPath, [program, file], { env, stdio: 'ignore' }));
    }
    const until = Date.now() + START_LIMIT_MS;
    for (const { host } of moods) {
      while (!(await isPolled(this.#client, hostQueue(host), 'activities'))) {
        if (Date.now() > until) throw new Error(`the stand-in for ${host} does not poll`);
        await sleep(100);
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#hosts.values()].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((done) => child.once('exit', done));
        child.kill('SIGKILL');
        await ended;
      }),
    );
    this.#hosts.clear();
  }
}
