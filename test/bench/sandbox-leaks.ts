/**
 * `sandbox-leaks`: what is left of 1,000 container episodes of which one in twenty is broken from outside, with the
 * sandbox worker killed three times on the way.
 *
 * An engine of its own (as root; skipped where there is none), the scripted policy on the desks. Faults come in turn to
 * the sandbox that was opened last: killed through the engine, its server killed by the host, removed by somebody
 * else, frozen (it hangs until the clock of a tool call runs out), out of memory by processes of its own. At the end
 * the stack is stopped, and engine, system and file system are asked what is there.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import pg from 'pg';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import { stopStack } from '../../infra/stack/stop.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { deskImage, left, verifyStack } from '../sandbox/docker/desk-stack.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { killWorker } from './kill.js';
import { load } from './machine.js';
import { ERROR_RATE, SEED } from './scripted-config.js';
import { serviceSeconds, spent, total, withStack } from './stack.js';
import { withMeteredEngine } from './with-engine.js';

const LANES = 12;
/** One fault for so many episodes. */
const FAULT_EVERY = { full: 20, quick: 6 };
/** Kills of the worker, at these shares of the episodes. */
const KILLS = { full: [0.25, 0.5, 0.75], quick: [0.5] };
/** A hang is over after so long, ms. */
const TOOL_MS = 5_000;
/** Nothing ends for so long: the benchmark has failed. */
const STUCK_MS = 5 * 60_000;
/** Releases that did not get through are made up for within this. */
const CLEAR_MS = 3 * 60_000;

const CLEAN = "SELECT count(*)::int AS count FROM attempts WHERE state = 'clean'";
const OPEN = `SELECT s.name FROM sandboxes s JOIN tries t ON t.id = s.try_id
  WHERE s.state = 'created' AND t.state = 'running' ORDER BY s.created_at DESC LIMIT 1`;
const TRIES = `SELECT coalesce(fault_code, fault_kind, state) AS what, count(*)::int AS count FROM tries GROUP BY 1`;

type Break = (container: Container) => Promise<unknown>;
const FAULTS: readonly (readonly [name: string, Break])[] = [
  ['killed by the engine', (container) => container.kill()],
  ['server killed by the host', async (container) => killed((await container.inspect()).State.Pid)],
  ['removed by somebody else', (container) => container.remove({ force: true })],
  ['frozen', (container) => container.pause()],
  ['out of memory', outOfMemory],
];

const run = (options: BenchOptions): Promise<readonly Figure[]> =>
  withMeteredEngine(options, async (metered, engine) => {
    process.env.STEADFAST_ISOLATION = 'docker';
    return await withStack(async (context) => {
      const { home, databaseUrl } = context.info;
      await deskImage(engine, home);
      const database = new pg.Pool({ connectionString: databaseUrl, max: 2 });
      database.on('error', () => undefined);
      try {
        const before = { services: serviceSeconds(home), engine: metered.seconds(), at: performance.now() };
        const campaign = await begin(context, options.quick ? 60 : 1_000);
        const faults = await disturb({ ...campaign, ...options, home, engine, database });
        await (await context.temporal()).workflow.getHandle(campaign.id).result();
        const wall = (performance.now() - before.at) / 1_000;
        // The sandbox worker was killed: what its predecessors had used is not in this.
        const services = spent(before.services, serviceSeconds(home));
        const used = metered.seconds();
        const counts = await (await context.ledger()).counts(campaign.id);
        const tries = (await database.query<{ what: string; count: number }>(TRIES)).rows;
        const verified = await cleared(database, home);
        await database.end();
        await stopStack({ home });
        const there = await left(engine, home);
        const processes = shimsOf(metered.engine.pid());
        const leaks = [...Object.values(there).flat(), ...processes, ...verified.problems];
        const { known, released, reaped } = verified;
        const details = {
          episodes: campaign.episodes,
          lanes: LANES,
          faults,
          workerKills: KILLS[size(options)].length,
          tries: Object.fromEntries(tries.map(({ what, count }) => [what, count])),
          sandboxes: { known, released, reaped },
          seconds: rounded(wall, 1),
          episodesASecond: rounded(campaign.episodes / wall),
          cpuSeconds: {
            services: rounded(total(services)),
            engine: rounded(used.engine - before.engine.engine),
            guests: rounded(used.guests - before.engine.guests),
          },
          load: load(),
        };
        return [
          {
            figure:
              'containers, networks, volumes, processes and folders left after container episodes with faults',
            bar: '0 leaks',
            target: null,
            measured: leaks.length,
            unit: 'leaks',
            holds: leaks.length === 0,
            details: { ...details, leaks: leaks.slice(0, 20) },
          },
          {
            figure: 'clean outcomes of the same episodes',
            bar: 'all of them',
            target: null,
            measured: counts.clean,
            unit: 'episodes',
            holds: counts.clean === campaign.episodes && counts.exhausted === 0,
            details: { ...counts },
          },
        ];
      } finally {
        await database.end().catch(() => undefined);
      }
    });
  });

function size({ quick }: Pick<BenchOptions, 'quick'>): 'quick' | 'full' {
  return quick ? 'quick' : 'full';
}

type Context = Parameters<Parameters<typeof withStack>[0]>[0];

interface Campaign {
  readonly id: string;
  readonly episodes: number;
}

async function begin(context: Context, episodes: number): Promise<Campaign> {
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'benchmark').slice(0, 20);
  const repeat = Math.ceil(episodes / tasks.length);
  const model = { kind: 'scripted', errorRate: ERROR_RATE, turnDelayMs: 300 } as const;
  const file = { seed: SEED, model, benchmark: { repeat }, limits: { toolMs: TOOL_MS } };
  const ids = tasks.map(({ id }) => id);
  const config = await attemptsConfig('eval', file, suite, ids);
  const { id } = await launch(context, 'leaks', config, LANES);
  return { id, episodes: ids.length * repeat };
}

interface Disturbed extends Campaign, Pick<BenchOptions, 'quick' | 'say'> {
  readonly home: string;
  readonly engine: Docker;
  readonly database: pg.Pool;
}

/** Breaks sandboxes and kills workers until all episodes have ended; returns how many faults of each kind there were. */
async function disturb(stack: Disturbed): Promise<Readonly<Record<string, number>>> {
  const { episodes, database, home, say } = stack;
  const counts: Record<string, number> = {};
  const kills = KILLS[size(stack)].map((share) => Math.round(share * episodes));
  let made = 0;
  let [last, changed] = [0, Date.now()];
  while (last < episodes) {
    const clean = (await database.query<{ count: number }>(CLEAN)).rows[0]!.count;
    if (clean > last) [last, changed] = [clean, Date.now()];
    if (Date.now() - changed > STUCK_MS) throw new Error(`${clean} of ${episodes} episodes, and no more`);
    if (kills.length > 0 && clean >= kills[0]!) {
      kills.shift();
      await killWorker(home);
      say(`  killed the sandbox worker after ${clean} episodes`);
    } else if (made < Math.floor(clean / FAULT_EVERY[size(stack)] + 0.5)) {
      const [name, broken] = FAULTS[made % FAULTS.length]!;
      if (await hit(stack, broken)) {
        counts[name] = (counts[name] ?? 0) + 1;
        made += 1;
      }
    }
    await sleep(100);
  }
  return counts;
}

/** False when the sandbox was gone before the fault reached it. */
async function hit({ engine, database }: Disturbed, broken: Break): Promise<boolean> {
  const [open] = (await database.query<{ name: string }>(OPEN)).rows;
  if (!open) return false;
  try {
    await broken(engine.getContainer(open.name));
    return true;
  } catch (error) {
    const { statusCode, code } = error as { statusCode?: number; code?: string };
    if (statusCode === 404 || statusCode === 409 || statusCode === 500 || code === 'ESRCH') return false;
    throw error;
  }
}

function killed(pid: number): void {
  // 0 is a container that has ended.
  if (pid <= 0) throw Object.assign(new Error('it has ended'), { code: 'ESRCH' });
  process.kill(pid, 'SIGKILL');
}

/**
 * Two processes inside take all its memory. The kernel ends the one that counts for most: the first one, which these
 * make seem larger than each of them.
 */
const HOGS = `
require('fs').writeFileSync('/proc/1/oom_score_adj', '1000');
const hog = 'const all = []; setInterval(() => all.push(Buffer.alloc(16 << 20, 1)), 1)';
require('child_process').spawn(process.execPath, ['-e', hog], { stdio: 'ignore' });
eval(hog);
`;

async function outOfMemory(container: Container): Promise<void> {
  const { Path } = (await container.inspect()) as { readonly Path: string };
  const exec = await container.exec({ Cmd: [Path, '-e', HOGS] });
  await exec.start({ Detach: true });
}

/** Until nothing is open but what waits for an episode; what is wrong by then is in the answer. */
async function cleared(database: pg.Pool, home: string) {
  for (const until = Date.now() + CLEAR_MS; ; ) {
    const found = await verifyStack(database, home);
    const open = found.intended + found.created - found.waiting;
    if ((open === 0 && found.problems.length === 0) || Date.now() > until) {
      const problems = open === 0 ? found.problems : [...found.problems, `${open} are open in the ledger`];
      return { ...found, problems };
    }
    await sleep(1_000);
  }
}

/** One for each container that runs: the engine's own processes for them. */
function shimsOf(engine: number): readonly string[] {
  const root = /--exec-root\0([^\0]+)/.exec(readFileSync(`/proc/${engine}/cmdline`, 'utf8'))?.[1] ?? '';
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => ({ entry, line: lineOf(entry) }))
    .filter(({ line }) => line.includes('containerd-shim') && line.includes(root))
    .map(({ entry }) => `process ${entry}: a shim`);
}

function lineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

export const sandboxLeaksBench: Bench = {
  name: 'sandbox-leaks',
  about:
    '1,000 container episodes, 50 sandboxes broken, the worker killed three times, about 10 minutes; needs root and Docker',
  run,
};
