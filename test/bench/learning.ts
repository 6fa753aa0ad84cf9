/**
 * `learning`: does the policy get dependable? The demo for each seed (`--plain`: the same recipe through the plain
 * loop), the benchmark 48 × 20 before and after. `--steps 50` for the longer run, which has a goal and no bar.
 */

import { jsonOf } from './child.js';
import { DEMO_SEED, defaultDemo } from './demo.js';
import { runDemo, type Scored } from './demo-run.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';

const MEAN_SHARE = 0.15;
const TIMES_BASE = 3;
const MORE_TASKS = 3;
const MORE_POINTS = 8;
const DEFAULT_STEPS = 15;

interface SeedResult {
  readonly seed: number;
  readonly before: Scored;
  readonly after: Scored;
}

async function run(options: BenchOptions): Promise<readonly Figure[]> {
  const results: SeedResult[] = [];
  for (const seed of options.seeds) {
    const { before, after } = await (options.plain ? throughPlainLoop : throughPipeline)(seed, options);
    results.push({ seed, before, after });
    options.say(`  seed ${seed}: ${inWords(before)} → ${inWords(after)}`);
  }
  const share = (scored: Scored): number => scored.dependable / scored.tasks;
  const mean = (of: (result: SeedResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0) / results.length;
  const base = mean(({ before }) => share(before));
  const trained = mean(({ after }) => share(after));
  const details = {
    steps: options.steps,
    through: options.plain ? 'plain loop' : 'pipeline',
    seeds: results.map(({ seed, before, after }) => ({ seed, before: shown(before), after: shown(after) })),
    meanShareBefore: rounded(base, 3),
    meanShareAfter: rounded(trained, 3),
  };
  const gains = results.map(({ before, after }) => ({
    tasks: after.dependable - before.dependable,
    points: 100 * (after.passAt1 - before.passAt1),
  }));
  const fewestTasks = Math.min(...gains.map(({ tasks }) => tasks));
  const fewestPoints = Math.min(...gains.map(({ points }) => points));
  return [
    {
      figure: 'tasks solved on every attempt after training, mean over seeds',
      bar: `≥ ${100 * MEAN_SHARE} % and ≥ ${TIMES_BASE} times the base`,
      target: '25 % after 50 steps',
      measured: rounded(100 * trained, 1),
      unit: '%',
      holds: trained >= MEAN_SHARE && trained >= TIMES_BASE * base,
      details,
    },
    {
      figure: 'tasks gained by the seed that gains fewest',
      bar: `≥ ${MORE_TASKS} tasks`,
      target: null,
      measured: fewestTasks,
      unit: 'tasks',
      holds: fewestTasks >= MORE_TASKS,
      details: { gains: gains.map(({ tasks }) => tasks) },
    },
    {
      figure: 'pass@1 gained by the seed that gains fewest',
      bar: `≥ ${MORE_POINTS} points`,
      target: null,
      measured: rounded(fewestPoints, 1),
      unit: 'points',
      holds: fewestPoints >= MORE_POINTS,
      details: { gains: gains.map(({ points }) => rounded(points, 1)) },
    },
  ];
}

async function throughPipeline(seed: number, options: BenchOptions) {
  if (seed === DEMO_SEED && options.steps === DEFAULT_STEPS) return defaultDemo(options);
  const short = ['--steps', '2', '--probes', '3', '--repeat', '2'];
  const args = options.quick ? short : ['--steps', String(options.steps)];
  return runDemo(['--seed', String(seed), ...args], options.say);
}

interface PlainScores {
  readonly tasks: number;
  readonly passAt1: number;
  readonly passAtK: number;
  readonly observed: number;
}

async function throughPlainLoop(seed: number, options: BenchOptions) {
  const short = ['--steps', '2', '--probe', '3', '--repeat', '2'];
  const args = options.quick ? short : ['--steps', String(options.steps), '--probe', '4'];
  const result = await jsonOf<{ readonly before: PlainScores; readonly after: PlainScores }>(
    'workers/plain-loop/main.js',
    ['--seed', String(seed), '--json', ...args],
    options,
  );
  const scored = ({ observed, ...rest }: PlainScores): Scored => ({ ...rest, dependable: observed });
  return { before: scored(result.before), after: scored(result.after) };
}

function shown({ tasks, passAt1, passAtK, dependable }: Scored) {
  return { tasks, passAt1: rounded(passAt1, 3), passAtK: rounded(passAtK, 3), dependable };
}

function inWords({ tasks, passAt1, passAtK, dependable }: Scored): string {
  return `pass@1 ${rounded(100 * passAt1, 1)} %, pass@k ${rounded(100 * passAtK, 1)} %, k/k ${dependable} of ${tasks}`;
}

export const learningBench: Bench = {
  name: 'learning',
  about: 'the demo for seeds 1, 2, 3; the first is the run of `demo`; about 2 minutes a seed',
  run,
};
