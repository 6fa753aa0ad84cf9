/**
 * `recover`: back at work after `kill -9` of everything.
 *
 * A training run and an evaluation with slow scripted turns, each on a stack of its own. With its lanes full, every
 * process of the stack is killed at once; then `steadfast up` is run as a person would. Measured: wall time from that
 * command to the first episode that begins after it and that nobody had begun before (try 1 of its attempt), and to
 * the first clean row after it. Both by the database's clock, which is this machine's.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openStack } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { gone } from '../../infra/setup/process.mjs';
import { ROOT } from '../../infra/setup/root.mjs';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { killStack } from '../../infra/stack/stop.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { load } from './machine.js';
import { LANES, scriptedConfig } from './scripted-config.js';
import { discardHome, temporaryHome } from './stack.js';

const BAR_SECONDS = 15;
const LIMIT_SECONDS = 120;

const CLEAN = "SELECT count(*)::int AS clean FROM tries WHERE state = 'clean'";
const RUNNING = "SELECT count(*)::int AS running, max(id) AS last FROM tries WHERE state = 'running'";
/** Seconds after $1 (seconds since 1970) at which something new was seen; $2: the last try before the kill. */
const SEEN = `SELECT
    extract(epoch FROM min(t.started_at) FILTER (WHERE t.try_number = 1 AND t.activity_attempt = 1))::float8 - $1 AS begun,
    extract(epoch FROM min(t.started_at))::float8 - $1 AS again,
    extract(epoch FROM min(t.ended_at) FILTER (WHERE t.state = 'clean'))::float8 - $1 AS clean
  FROM tries t WHERE t.id > $2 AND t.started_at > to_timestamp($1)`;

interface Recovery {
  /** Seconds from the command. */
  readonly begun: number;
  readonly again: number;
  readonly clean: number;
  /** When `steadfast up` had ended. */
  readonly up: number;
  readonly inFlight: number;
  readonly load: readonly number[];
}

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const kinds: readonly [string, () => Promise<CampaignConfig>][] = [
    ['a training run', trainingConfig],
    ['an evaluation', () => scriptedConfig(20, { errorRate: 0.1, turnDelayMs: 400 })],
  ];
  const figures: Figure[] = [];
  for (const [kind, config] of quick ? kinds.slice(0, 1) : kinds) {
    const recovery = await recover(await config());
    say(`  ${kind}: ${JSON.stringify(recovery)}`);
    figures.push({
      figure: `${kind}, everything killed: from \`steadfast up\` to the first new episode`,
      bar: `< ${BAR_SECONDS} s`,
      target: null,
      measured: recovery.begun,
      unit: 's',
      holds: recovery.begun < BAR_SECONDS,
      details: { ...recovery },
    });
  }
  return figures;
}

/** Several steps, so that the kill falls into one whose weights have to be brought back. */
async function trainingConfig(): Promise<CampaignConfig> {
  const suite = createDeskbench();
  const file = { seed: 11, train: { steps: 9, saveEvery: 5, plan: { learningRate: 4.5e-4 } } };
  return trainConfig(file, suite, await chooseTasks(suite, 'train'));
}

async function recover(config: CampaignConfig): Promise<Recovery> {
  const home = temporaryHome();
  try {
    const info = await startStack({ home, holder: 'up' });
    const context = openStack(info);
    try {
      await launch(context, 'recovered', config, LANES);
    } finally {
      await context.close();
    }
    const before = await whileBusy(info.databaseUrl, config.kind === 'train' ? 300 : 100);
    const dead = readState(home)!;
    killStack({ home });
    await Promise.all([dead.supervisor, ...dead.processes].map((id) => gone(id, 10_000)));
    const from = Date.now() / 1_000;
    const loadThen = load();
    const up = steadfastUp(home).then(() => rounded(Date.now() / 1_000 - from));
    const seen = await firstNews(info.databaseUrl, from, before.last);
    return { ...seen, up: await up, inFlight: before.running, load: loadThen };
  } finally {
    await discardHome(home);
  }
}

/** Waits until so many episodes are clean and nearly every lane is at work: what waits for the dead waits longest then. */
async function whileBusy(url: string, clean: number): Promise<{ running: number; last: string }> {
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  const deadline = Date.now() + 1_000 * LIMIT_SECONDS;
  try {
    for (;;) {
      const [ended] = (await database.query<{ clean: number }>(CLEAN)).rows;
      const [busy] = (await database.query<{ running: number; last: string }>(RUNNING)).rows;
      if (ended!.clean >= clean && busy!.running >= 0.9 * LANES) return busy!;
      if (Date.now() > deadline) {
        throw new Error(
          `not at work after ${LIMIT_SECONDS} s: ${ended!.clean} clean, ${busy!.running} running`,
        );
      }
      await sleep(20);
    }
  } finally {
    // The server is about to be killed.
    database.on('error', () => undefined);
    await database.end();
  }
}

async function firstNews(
  url: string,
  from: number,
  last: string,
): Promise<Pick<Recovery, 'begun' | 'again' | 'clean'>> {
  for (;;) {
    const row = await look(url, from, last);
    if (row?.begun != null && row.again != null && row.clean != null) {
      return { begun: rounded(row.begun), again: rounded(row.again), clean: rounded(row.clean) };
    }
    if (Date.now() / 1_000 - from > LIMIT_SECONDS) {
      throw new Error(`nothing new within ${LIMIT_SECONDS} s: ${JSON.stringify(row)}`);
    }
    await sleep(200);
  }
}

/** Undefined while the database is down. */
async function look(url: string, from: number, last: string) {
  const database = new pg.Client({ connectionString: url });
  database.on('error', () => undefined);
  try {
    await database.connect();
    type Row = { begun: number | null; again: number | null; clean: number | null };
    return (await database.query<Row>(SEEN, [from, last])).rows[0];
  } catch {
    // Refused, or still recovering: asked again.
    return undefined;
  } finally {
    await database.end().catch(() => undefined);
  }
}

async function steadfastUp(home: string): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, 'cli', 'steadfast.mjs'), 'up'], {
    env: { ...process.env, STEADFAST_HOME: home },
    stdio: 'ignore',
  });
  const code = await new Promise<number | null>((done) => {
    child.once('exit', done);
  });
  if (code !== 0) throw new Error(`steadfast up: exit ${code}`);
}

export const recoverBench: Bench = {
  name: 'recover',
  about: 'kill -9 of a whole stack at work and `steadfast up`, twice, about a minute',
  run,
};
