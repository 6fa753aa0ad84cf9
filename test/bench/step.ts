/**
 * `step`: GRPO steps through the stack against the same steps from a plain loop.
 *
 * Both take the same seed, keys, pool and base, so they sample the same episodes token by token and must end with
 * the same weights: compared, and an error when they differ. Counted: CPU time of all processes of either side. Before
 * that both evaluate every benchmark task four times, to load and compile their code. The stack also saves a checkpoint
 * after its last step and checks the sampler against the trainer after each.
 */
import { attemptsConfig, chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import type { StageCpu } from '../../workers/plain-loop/cpu.js';
import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { runToEnd, serviceSeconds, spent, total, withStack } from './stack.js';

const SEED = 7;
const LEARNING_RATE = 4.5e-4;
const LANES = 48;
const BAR = 2;

interface PlainResult {
  readonly stages: { readonly train: StageCpu };
  readonly weightVersion: string;
  readonly lines: readonly { readonly episodes: number }[];
}

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const steps = quick ? 1 : 6;
  const warmUpRepeat = quick ? 1 : 4;
  const shape = quick ? { groups: 4, groupSize: 4 } : { groups: 18, groupSize: 8 };
  const suite = createDeskbench();
  const stack = await withStack(async (context) => {
    const { home } = context.info;
    const warmUp = { seed: SEED, benchmark: { repeat: warmUpRepeat } };
    const tasks = await chooseTasks(suite, 'benchmark');
    await runToEnd(context, 'warm-up', await attemptsConfig('eval', warmUp, suite, tasks), LANES);
    const scale = shape.groups / 18;
    const file = {
      seed: SEED,
      train: {
        steps,
        shape: {
          ...shape,
          maxGroups: Math.round(72 * scale),
          minInformative: Math.max(1, Math.round(6 * scale)),
        },
        plan: { learningRate: LEARNING_RATE },
      },
    };
    const pool = await chooseTasks(suite, 'train');
    // The plain loop's own name: keys, and with them seeds, are the same on both sides.
    const before = serviceSeconds(home);
    const from = performance.now();
    await runToEnd(context, `plain-${SEED}`, await trainConfig(file, suite, pool), LANES);
    const wall = (performance.now() - from) / 1_000;
    const seconds = spent(before, serviceSeconds(home));
    const ledger = await context.ledger();
    const rows = await ledger.steps(`train/plain-${SEED}`);
    const episodes = (await ledger.attempts(`train/plain-${SEED}`)).length;
    return { seconds, wall, episodes, weights: rows.at(-1)?.weightDigest };
  });
  say(`  through the stack: ${stack.episodes} episodes in ${stack.wall.toFixed(1)} s`);
  const plain = await jsonOf<PlainResult>(
    'workers/plain-loop/main.js',
    [
      ...[
        '--seed',
        String(SEED),
        '--steps',
        String(steps),
        '--probe',
        '0',
        '--repeat',
        String(warmUpRepeat),
        '--json',
      ],
      ...['--groups', String(shape.groups), '--group-size', String(shape.groupSize)],
      ...['--learning-rate', String(LEARNING_RATE), '--concurrency', String(LANES)],
    ],
    { say },
  );
  const episodes = plain.lines.reduce((sum, line) => sum + line.episodes, 0);
  if (plain.weightVersion !== stack.weights || episodes !== stack.episodes) {
    const found = `${episodes} and ${plain.weightVersion}`;
    throw new Error(
      `the stack ended with ${stack.episodes} episodes and ${stack.weights}, the plain loop with ${found}`,
    );
  }
  const { train } = plain.stages;
  const plainSeconds = train.self + train.trainer + train.endpoints;
  const stackSeconds = total(stack.seconds);
  const measured = rounded(stackSeconds / plainSeconds);
  return [
    {
      figure: 'CPU of a GRPO step, relative to the plain loop',
      bar: `≤ ${BAR} times`,
      target: null,
      measured,
      unit: 'times',
      holds: measured <= BAR,
      details: {
        steps,
        shape,
        episodes,
        sameWeights: true,
        secondsPerStep: { stack: rounded(stackSeconds / steps), plain: rounded(plainSeconds / steps) },
        msPerEpisodeMore: rounded((1_000 * (stackSeconds - plainSeconds)) / episodes, 1),
        stackSeconds: stack.seconds,
        plainSeconds: train,
        wallSeconds: { stack: rounded(stack.wall, 1), plain: rounded(train.wall, 1) },
      },
    },
  ];
}

export const stepBench: Bench = {
  name: 'step',
  about: '6 steps of 18 × 8 through a stack and in a plain loop, about a minute',
  run,
};
