/**
 * `sandbox`: what a container costs an episode, in time to its first answer, in episodes a second and in CPU time.
 *
 * An engine of its own (as root; skipped where there is none). Figures of one run:
 *
 * - from the request for a sandbox to the answer of its first tool call, one at a time on an otherwise idle stack, by
 *   driver; warm: a container waits whenever one is asked for, as it does when demand is steady.
 * - whole evaluations through Temporal, 16 lanes, a scripted policy that takes 1 s a turn: `inline`, then `docker`, each
 *   on a stack of its own after a round that is not counted.
 * - CPU of everything over the `docker` evaluation: services of the stack from `/proc`; engine, containerd, shims and
 *   containers from their control groups (engine-cpu.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createDockerDriver } from '../../activities/sandbox/docker/driver.js';
import { rememberImage } from '../../activities/sandbox/docker/images.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import type { StackContext } from '../../cli/context.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import type { Suite } from '../../core/suite.js';
import { loadImage } from '../../infra/images/load.js';
import { programImage } from '../../infra/images/node-image.js';
import { createDeskbench, stdioEntry } from '../../suites/deskbench/suite.js';
import type { MeteredEngine } from './engine-cpu.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { ERROR_RATE, scriptedConfig } from './scripted-config.js';
import { runToEnd, serviceSeconds, spent, total, withStack } from './stack.js';
import { withMeteredEngine } from './with-engine.js';

const BAR_MS = 60;
const BAR_SHARE = 0.7;
const LANES = 16;
const SETTINGS = { errorRate: ERROR_RATE, turnDelayMs: 1_000 };
/** A container that waits for its claim in a running worker has usually waited longer. */
const SETTLED_MS = 700;
const HOST = `bench-${process.pid}`;
const never = new AbortController().signal;

const run = (options: BenchOptions): Promise<readonly Figure[]> =>
  withMeteredEngine(options, async (metered, engine) => {
    const suite = createDeskbench();
    const [tag] = suite.images as readonly [string];
    const snapshots = mkdtempSync(join(tmpdir(), 'steadfast-bench-'));
    const archive = await programImage({ tag, entry: stdioEntry(), snapshots });
    rmSync(snapshots, { recursive: true, force: true });
    const image = await loadImage(engine, archive, tag);
    const remember = (home: string): Promise<void> => rememberImage(home, tag, image);
    process.env.STEADFAST_ISOLATION = 'inline';
    const inline = await withStack((context) => evaluate(context, options));
    options.say(`  inline: ${inline.perSecond} episodes a second`);
    process.env.STEADFAST_ISOLATION = 'docker';
    return await withStack(async (context) => {
      await remember(context.info.home);
      const docker = await evaluate(context, options, metered);
      options.say(`  docker: ${docker.perSecond} episodes a second`);
      const first = await firstAnswer(context, metered, suite, options);
      return [first, throughput(inline, docker), cpu(inline, docker)];
    });
  });

interface Evaluation {
  readonly episodes: number;
  readonly perSecond: number;
  /** CPU-seconds an episode, by who used them. */
  readonly seconds: Readonly<Record<'ours' | 'engine' | 'guests' | 'all', number>>;
  readonly byService: Readonly<Record<string, number>>;
  /** Sandboxes of the evaluation that had been started ahead of their tries. */
  readonly startedAhead: number;
}

async function evaluate(
  context: StackContext,
  { quick }: BenchOptions,
  metered?: MeteredEngine,
): Promise<Evaluation> {
  const repeat = quick ? 1 : 4;
  if (!quick) await runToEnd(context, 'warm-up', await scriptedConfig(1, SETTINGS), LANES);
  const config = await scriptedConfig(repeat, SETTINGS);
  const ofEngine = () => metered?.seconds() ?? { engine: 0, guests: 0 };
  const [services, engine, from] = [serviceSeconds(context.info.home), ofEngine(), performance.now()];
  const row = await runToEnd(context, 'scripted', config, LANES);
  const wall = (performance.now() - from) / 1_000;
  const [byService, after] = [spent(services, serviceSeconds(context.info.home)), ofEngine()];
  const episodes = config.tasks.length * repeat;
  const { clean } = row.result as { readonly clean: number };
  if (clean !== episodes) throw new Error(`${row.id}: expected ${episodes} clean attempts, found ${clean}`);
  const each = (seconds: number): number => rounded(seconds / episodes, 3);
  const [ours, daemon, guests] = [
    total(byService),
    after.engine - engine.engine,
    after.guests - engine.guests,
  ];
  return {
    episodes,
    perSecond: rounded(episodes / wall),
    seconds: {
      ours: each(ours),
      engine: each(daemon),
      guests: each(guests),
      all: each(ours + daemon + guests),
    },
    byService: Object.fromEntries(Object.entries(byService).map(([name, seconds]) => [name, each(seconds)])),
    startedAhead: await startedAhead(context, row.id),
  };
}

async function startedAhead(context: StackContext, campaign: string): Promise<number> {
  const [row] = await rows<{ warm: number }>(
    context,
    `SELECT count(*)::int AS warm FROM sandboxes s JOIN tries t ON t.id = s.try_id
      JOIN attempts a ON a.id = t.attempt_id WHERE s.warm AND a.campaign = $1`,
    [campaign],
  );
  return row?.warm ?? 0;
}

async function rows<T extends pg.QueryResultRow>(
  { info }: StackContext,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly T[]> {
  const client = new pg.Client({ connectionString: info.databaseUrl });
  await client.connect();
  try {
    return (await client.query<T>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

async function firstAnswer(
  context: StackContext,
  { engine }: MeteredEngine,
  suite: Suite,
  { quick, say }: BenchOptions,
): Promise<Figure> {
  const { home } = context.info;
  const rounds = quick ? 3 : 30;
  const ledger = await context.ledger();
  const docker = { home, host: HOST, engine: engine.settings };
  const leftBehind = ({ name }: { readonly name: string }): void => say(`  ${name} was left behind`);
  const ahead = { ledger, host: HOST, worker: `${HOST}:${process.pid}`, most: 1, atOnce: 2, leftBehind, say };
  const warm = createDockerDriver({ ...docker, warm: ahead });
  const waits = async (): Promise<void> => {
    const text = `SELECT FROM sandboxes WHERE host = $1 AND try_id IS NULL AND state = 'created'`;
    while ((await rows(context, text, [HOST])).length === 0) await sleep(50);
    await sleep(SETTLED_MS);
  };
  // One desk, since only so many wait for each.
  const { id } = (await suite.tasks())[0]!;
  const time = async (driver: SandboxDriver, before?: () => Promise<void>): Promise<readonly number[]> => {
    const times: number[] = [];
    const { servers, init } = await suite.load(id);
    // The first two load and compile the code, and make a demand.
    for (let round = 0; round < rounds + 2; round += 1) {
      if (round >= 2) await before?.();
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      const from = performance.now();
      const taken = await driver.take?.({ servers, expiresAt });
      const name = taken?.name ?? `sf-bench-${process.pid}-${driver.isolation}-${round}`;
      const sandbox = await driver.create({
        name,
        servers,
        signal: never,
        expiresAt,
        ...(taken && { warm: taken }),
      });
      await init(sandbox.tools, never);
      if (round >= 2) times.push(performance.now() - from);
      await sandbox.release();
      if (taken) await ledger.sandboxEnded(name, 'released');
      else if (before && round >= 2) throw new Error('expected a container that waits, found none');
    }
    return times;
  };
  try {
    const [inline, process, cold] = [
      await time(createInlineDriver()),
      await time(createProcessDriver(home)),
      await time(createDockerDriver(docker)),
    ];
    const claimed = await time(warm, waits);
    const measured = rounded(quantile(claimed, 0.5), 1);
    return {
      figure:
        'deskbench: from the request for a sandbox to the answer of its first tool call, docker, warm; median',
      bar: `< ${BAR_MS} ms`,
      target: null,
      measured,
      unit: 'ms',
      holds: measured < BAR_MS,
      details: {
        rounds,
        warmMs: spread(claimed),
        coldMs: spread(cold),
        processMs: spread(process),
        inlineMs: spread(inline),
      },
    };
  } finally {
    await warm.close?.();
  }
}

function throughput(inline: Evaluation, docker: Evaluation): Figure {
  const measured = rounded(docker.perSecond / inline.perSecond, 3);
  return {
    figure: `episodes/s with ${LANES} lanes and 1 s a turn, docker over inline`,
    bar: `≥ ${BAR_SHARE}`,
    target: null,
    measured,
    unit: 'times',
    holds: measured >= BAR_SHARE,
    details: {
      episodes: docker.episodes,
      inlineEpisodesASecond: inline.perSecond,
      dockerEpisodesASecond: docker.perSecond,
      startedAhead: docker.startedAhead,
    },
  };
}

function cpu(inline: Evaluation, docker: Evaluation): Figure {
  return {
    figure: 'CPU of a container episode: all of ours, the engine with its shims, and the containers',
    bar: 'reported',
    target: null,
    measured: docker.seconds.all,
    unit: 'CPU-seconds',
    holds: true,
    details: { ...docker.seconds, byService: docker.byService, inline: inline.seconds.all },
  };
}

function spread(times: readonly number[]): Readonly<Record<'median' | 'p90' | 'max', number>> {
  const at = (share: number): number => rounded(quantile(times, share), 1);
  return { median: at(0.5), p90: at(0.9), max: at(1) };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const sandboxBench: Bench = {
  name: 'sandbox',
  about:
    'containers against inline: first answers, 192 slow scripted episodes each, about 4 minutes; needs root and Docker',
  run,
};
