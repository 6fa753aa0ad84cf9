/**
 * `orchestration` and `ledger`: what durability costs an episode.
 *
 * An evaluation with the scripted policy through a real stack, and the same episodes in a plain loop against the same
 * user and judge. Counted: CPU time of Temporal, PostgreSQL (every backend) and the three workers over the campaign,
 * less that of the plain loop's process. Not counted: trainer (idle), user and judge (both sides ask them alike),
 * supervisor, and a first round of every task in which both sides load and compile their code.
 */

import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import type { PlainResult } from './plain-scripted.js';
import { ERROR_RATE, LANES, scriptedConfig } from './scripted-config.js';
import { runToEnd, type ServiceSeconds, serviceSeconds, spent, total, withStack } from './stack.js';

const SETTINGS = { errorRate: ERROR_RATE, turnDelayMs: 0 };
const BAR_MS = 60;
const LEDGER_BAR_MS = 5;

interface Run {
  readonly episodes: number;
  readonly passed: number;
  readonly wall: number;
  readonly services: ServiceSeconds;
  readonly plain: PlainResult;
}

let running: Promise<Run> | undefined;

/** Both figures are read from one run. */
function scriptedRun(options: BenchOptions): Promise<Run> {
  running ??= compare(options);
  return running;
}

async function compare({ quick, say }: BenchOptions): Promise<Run> {
  const repeat = quick ? 1 : 16;
  return withStack(async (context) => {
    const { home, userUrl, judgeUrl } = context.info;
    await runToEnd(context, 'warm-up', await scriptedConfig(quick ? 1 : 2, SETTINGS), LANES);
    const config = await scriptedConfig(repeat, SETTINGS);
    const before = serviceSeconds(home);
    const from = performance.now();
    const row = await runToEnd(context, 'scripted', config, LANES);
    const wall = (performance.now() - from) / 1_000;
    const services = spent(before, serviceSeconds(home));
    const { score, clean } = row.result as { clean: number; score: { passed: number } };
    const episodes = config.tasks.length * repeat;
    if (clean !== episodes) throw new Error(`${row.id}: expected ${episodes} clean attempts, found ${clean}`);
    say(`  through the stack: ${episodes} episodes in ${wall.toFixed(1)} s`);
    const plain = await jsonOf<PlainResult>(
      'test/bench/plain-scripted.js',
      [userUrl, judgeUrl, quick ? '1' : '2', String(repeat)],
      { say },
    );
    if (plain.passed !== score.passed)
      throw new Error(`the plain loop passed ${plain.passed} episodes, the stack ${score.passed}`);
    return { episodes, passed: score.passed, wall, services, plain };
  });
}

const ORCHESTRATION = (name: string): boolean =>
  name === 'temporal' || name === 'postgres' || name.startsWith('worker-');

async function orchestration(options: BenchOptions): Promise<readonly Figure[]> {
  const { episodes, passed, wall, services, plain } = await scriptedRun(options);
  const perEpisode = (seconds: number): number => rounded((1_000 * seconds) / episodes, 1);
  const measured = perEpisode(total(services, ORCHESTRATION) - plain.seconds);
  return [
    {
      figure: 'CPU of the orchestration per episode, less the plain loop',
      bar: `< ${BAR_MS} ms, at least 500 episodes`,
      target: '40 ms',
      measured,
      unit: 'ms',
      holds: measured < BAR_MS && episodes >= 500,
      details: {
        episodes,
        passed,
        wallSeconds: rounded(wall, 1),
        episodesPerSecond: rounded(episodes / wall, 1),
        msByService: Object.fromEntries(
          Object.entries(services).map(([name, seconds]) => [name, perEpisode(seconds)]),
        ),
        plainLoopMs: perEpisode(plain.seconds),
        plainLoopWallSeconds: rounded(plain.wall, 1),
      },
    },
  ];
}

async function ledger(options: BenchOptions): Promise<readonly Figure[]> {
  const { episodes, services } = await scriptedRun(options);
  const measured = rounded((1_000 * (services.postgres ?? 0)) / episodes);
  return [
    {
      figure: 'database CPU per episode',
      bar: `< ${LEDGER_BAR_MS} ms`,
      target: null,
      measured,
      unit: 'ms',
      holds: measured < LEDGER_BAR_MS,
      details: { episodes, postgresSeconds: services.postgres },
    },
  ];
}

export const orchestrationBench: Bench = {
  name: 'orchestration',
  about: '768 scripted episodes through a stack and in a plain loop, about half a minute',
  run: orchestration,
};
export const ledgerBench: Bench = {
  name: 'ledger',
  about: 'database CPU in the run of `orchestration`, at no further cost',
  run: ledger,
};
