/**
 * `dry-run`: the reference run's file checked against a cluster of stand-ins, real processes that answer the questions.
 *
 * Healthy, then sick with faults planted everywhere at once. CPU time is of the command, of the hosts, and of the stack
 * that carries the questions, from the start of the command to its end; wall time is the command's.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StackContext } from '../../cli/context.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { Cluster, healthyMoods } from '../stand-in-cluster/cluster.js';
import { expiredEndpoint } from '../stand-in-cluster/endpoints.js';
import { faultWords, sickFile, sickMoods, unnamed } from '../stand-in-cluster/faults.js';
import { localFile, type ReferenceFile } from '../stand-in-cluster/material.js';
import type { Mood } from '../stand-in-cluster/mood.js';
import { type Bench, type BenchOptions, type Figure, rounded } from './figure.js';
import { load } from './machine.js';
import { readProcesses, treeSeconds } from './process-times.js';
import { serviceSeconds, spent, total, withStack } from './stack.js';

const MOST_SECONDS = 5;
const LEAST_FAULTS = 12;

interface Ran {
  readonly code: number;
  readonly problems: readonly string[];
  /** CPU-seconds by who used them, and the wall clock of the command. */
  readonly seconds: {
    readonly command: number;
    readonly hosts: number;
    readonly stack: number;
    readonly wall: number;
  };
}

async function run({ say }: BenchOptions): Promise<readonly Figure[]> {
  return withStack(async (context) => {
    const loadThen = load();
    const well = localFile(context.info, 'well');
    const healthy = await measured(context, well, well, (moods) => moods);
    say(`  healthy: exit ${healthy.code}, ${JSON.stringify(healthy.seconds)}`);

    const expired = await expiredEndpoint();
    const file = localFile(context.info, 'sick');
    const words = faultWords(file);
    const sick = await measured(context, file, sickFile(file, { expiredUrl: expired.url }), (moods, folder) =>
      sickMoods(moods, file, folder),
    );
    expired.close();
    const missed = unnamed(sick.problems, words);
    say(`  sick: exit ${sick.code}, ${words.length - missed.length} of ${words.length} faults named`);

    const { command, hosts, stack } = healthy.seconds;
    const seconds = rounded(command + hosts + stack);
    return [
      {
        figure: 'a healthy dry run of the reference',
        bar: `under ${MOST_SECONDS} CPU-seconds`,
        target: null,
        measured: seconds,
        unit: 'CPU-seconds',
        holds: healthy.code === 0 && seconds < MOST_SECONDS,
        details: { ...healthy, load: loadThen },
      },
      {
        figure: 'planted faults that one dry run does not name',
        bar: `0 of at least ${LEAST_FAULTS}`,
        target: null,
        measured: missed.length,
        unit: 'faults',
        holds: missed.length === 0 && words.length >= LEAST_FAULTS && sick.code === 2,
        details: { planted: words.length, missed, ...sick },
      },
    ];
  });
}

/** `shape`: the file that the healthy cluster is made for; `asked`: the one that is checked. */
async function measured(
  context: StackContext,
  shape: ReferenceFile,
  asked: ReferenceFile,
  moods: (healthy: readonly Mood[], folder: string) => readonly Mood[],
): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), 'steadfast-bench-cluster-'));
  const client = await context.temporal();
  const cluster = new Cluster({ folder, client, address: context.info.temporal.address });
  try {
    await cluster.start(moods(healthyMoods(folder, shape), folder));
    const path = join(folder, 'q38.yaml');
    writeFileSync(path, JSON.stringify(asked));
    const used = () => {
      const table = readProcesses();
      return cluster.pids.reduce((sum, pid) => sum + treeSeconds(pid, table), 0);
    };
    const [hostsBefore, stackBefore] = [used(), serviceSeconds(context.info.home)];
    const { code, out, seconds } = await dryRun(context.info.home, path);
    const stack = total(spent(stackBefore, serviceSeconds(context.info.home)));
    const { problems } = JSON.parse(out) as { problems: readonly string[] };
    return {
      code,
      problems,
      seconds: { ...seconds, hosts: rounded(used() - hostsBefore), stack: rounded(stack) },
    };
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The command's own CPU time is what our ended children have gained by it. */
async function dryRun(home: string, file: string) {
  const ended = () => readProcesses().get(process.pid)?.seconds ?? 0;
  const own = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
  const [before, ours, from] = [ended(), own(), performance.now()];
  const args = [join(ROOT, 'cli/steadfast.mjs'), 'train', '--file', file, '--dry-run', '--json'];
  const keys = { USER_KEY: 'a-user-key', JUDGE_KEY: 'a-judge-key' };
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...keys, STEADFAST_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const code = await new Promise<number>((done) => child.once('close', (exit) => done(exit ?? -1)));
  const wall = rounded((performance.now() - from) / 1_000);
  return { code, out, seconds: { command: rounded(ended() - before - (own() - ours)), wall } };
}

export const dryRunBench: Bench = {
  name: 'dry-run',
  about: 'the reference run checked against stand-ins, healthy and sick, about half a minute',
  run,
};
