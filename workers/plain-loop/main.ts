/**
 * The whole pipeline without Temporal, PostgreSQL or artifacts: the first proof that the policy learns, and the
 * baseline that the durable pipeline is measured against.
 *
 *   npm run build && node dist/workers/plain-loop/main.js --seed 1 --steps 15
 *
 * About 2 minutes on 2 idle cores at the default shape. Progress on standard error, the result on standard output.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { UPDATE_PLAN } from '../../temporal.config.js';
import { type StageCpu, stopwatch } from './cpu.js';
import { Episodes } from './episodes.js';
import { evaluate, type LoopOptions, type StepLine, scores, train } from './loop.js';
import { startServices } from './services.js';

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('expected a whole number');
  return Number(text);
}

const options = new Command('plain-loop')
  .option('--seed <n>', 'seed of the run', count, 1)
  .option('--steps <n>', 'training steps', count, 15)
  .option('--groups <n>', 'groups of a batch', count, 18)
  .option('--group-size <n>', 'episodes of a group', count, 8)
  .option('--eval-tasks <n>', 'benchmark tasks; 0 for all', count, 0)
  .option('--repeat <n>', 'attempts of a benchmark task', count, 20)
  .option('--probe <n>', 'attempts of a candidate before training; 0 trains on all', count, 8)
  .option('--concurrency <n>', 'episodes at a time', count, 48)
  .option('--learning-rate <x>', 'of AdamW', Number, 4.5e-4)
  .option('--json', 'print the result as JSON')
  .parse()
  .opts<{
    seed: number;
    steps: number;
    groups: number;
    groupSize: number;
    evalTasks: number;
    repeat: number;
    probe: number;
    concurrency: number;
    learningRate: number;
    json?: true;
  }>();

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const home = await mkdtemp(join(tmpdir(), 'plain-loop-'));
const services = await startServices(home);
const stages: Record<string, StageCpu> = {};

async function stage<T>(name: string, work: () => Promise<T>): Promise<T> {
  const stop = await stopwatch(services.pids);
  const result = await work();
  stages[name] = await stop();
  return result;
}

try {
  const suite = createDeskbench();
  const episodes = new Episodes(suite, services, options.seed, options.concurrency);
  const trainer = createTrainerClient({ url: services.trainerUrl });
  const tasks = await suite.tasks();
  const benchmark = tasks
    .filter((task) => task.split === 'benchmark')
    .slice(0, options.evalTasks || undefined);
  const candidates = tasks.filter((task) => task.split === 'train');
  const signal = new AbortController().signal;
  const base = (await trainer.serve(undefined, signal)).weightVersion;
  const { seed, steps, groups, groupSize, repeat, probe } = options;
  const plan = { ...UPDATE_PLAN, learningRate: options.learningRate };
  const loop: LoopOptions = { seed, steps, groups, groupSize, repeat, probe, plan, home };

  let pool = candidates.map((task) => task.id);
  let informativeShare: number | undefined;
  if (probe > 0) {
    const probed = await stage('probe', () =>
      evaluate(episodes, `probe/plain-${seed}`, candidates, probe, base),
    );
    const rate = probed.map(({ passed, attempts }) => passed / attempts);
    informativeShare = rate.filter((r) => r >= 0.08 && r <= 0.9).length / rate.length;
    pool = probed
      .filter(({ passed, attempts }) => passed > 0 && passed < attempts)
      .map((task) => task.taskId);
    const mean = rate.reduce((sum, r) => sum + r, 0) / rate.length;
    say(
      `probe: pass@1 ${percent(mean)}, ${percent(informativeShare)} of ${candidates.length} between .08 and .90, pool ${pool.length}`,
    );
  }
  const before = scores(
    await stage('evaluate-base', () =>
      evaluate(episodes, `eval/plain-${seed}-base`, benchmark, repeat, base),
    ),
    repeat,
  );
  say(
    `before: pass@1 ${percent(before.passAt1)}, pass@${repeat} ${percent(before.passAtK)}, ${repeat}/${repeat} ${before.observed} of ${before.tasks}`,
  );

  const lines: StepLine[] = [];
  let weightVersion = base;
  await stage('train', async () => {
    for await (const line of train(episodes, trainer, pool, loop)) {
      lines.push(line);
      ({ weightVersion } = line);
      const { step, reward, started, zeroVariance, report } = line;
      say(
        `step ${step}: reward ${reward.toFixed(3)}, groups ${started}, zero variance ${zeroVariance}, entropy ${report.entropy.toFixed(3)}, kl ${report.klToBase.toFixed(4)}, grad ${report.gradNorm.toFixed(3)}, clip ${report.clipFraction.toFixed(3)}, mismatch ${report.mismatchMax.toExponential(1)}, update ${report.seconds.toFixed(1)} s`,
      );
    }
  });
  const after = scores(
    await stage('evaluate-final', () =>
      evaluate(episodes, `eval/plain-${seed}-final`, benchmark, repeat, weightVersion),
    ),
    repeat,
  );
  say(
    `after:  pass@1 ${percent(after.passAt1)}, pass@${repeat} ${percent(after.passAtK)}, ${repeat}/${repeat} ${after.observed} of ${after.tasks}`,
  );

  const result = {
    seed,
    steps,
    pool: pool.length,
    informativeShare,
    before,
    after,
    faults: episodes.faults,
    stages,
    lines,
    base,
    weightVersion,
  };
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else for (const [name, cpu] of Object.entries(stages)) say(`${name}: ${JSON.stringify(cpu)}`);
} finally {
  services.stop();
  await rm(home, { recursive: true, force: true });
}
