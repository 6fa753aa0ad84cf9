/**
 * Two hosts on one machine: the stack's worker with a Docker engine, and workers that join by configuration with an
 * engine of their own. Episodes are played on both, each ends only what is its own, and a host that loses its engine
 * leaves the work to the other.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine } from '../../activities/sandbox/docker/engine.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import type { Place } from '../../core/sharing.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { sandboxDrivers } from '../../workers/drivers.js';
import { sweepSandboxes } from '../../workers/sweep.js';
import { until } from '../e2e/until.js';
import { LONG } from '../long.js';
import { steadfast } from '../replay/command.js';
import { type DeskStack, engineWithDesks, startDeskStack } from '../sandbox/docker/desk-stack.js';
import type { OwnEngine } from '../sandbox/docker/own-engine.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { waiting } from './pool.js';
import { type RemoteWorker, remoteEnvironment, remoteWorker } from './remote-worker.js';

const SLOTS = '4';
const home = temporaryHome();
const remoteHome = temporaryHome();
const first = await engineWithDesks(home);
const second = 'why' in first ? first : await engineWithDesks(remoteHome);
if ('why' in second) process.stderr.write(`tests of remote pools are skipped: ${second.why}\n`);

describe.skipIf('why' in second)('remote pools', { timeout: 180_000 }, () => {
  const here = first as { readonly engine: OwnEngine };
  const there = second as { readonly engine: OwnEngine };
  let stack: DeskStack;
  let tasks: readonly string[] = [];
  const remotes: RemoteWorker[] = [];

  beforeAll(async () => {
    Object.assign(process.env, { STEADFAST_HOST: 'first', STEADFAST_SLOTS: SLOTS });
    stack = await startDeskStack(here.engine.settings, home);
    tasks = (await createDeskbench().tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
  }, 200_000);
  afterAll(async () => {
    try {
      await Promise.all(remotes.map((remote) => remote.end('SIGTERM')));
      await stack?.close();
      await discard(home);
    } finally {
      await Promise.all([here.engine.stop(), there.engine.stop()]);
      await rm(remoteHome, { recursive: true, force: true });
      for (const name of ['STEADFAST_HOST', 'STEADFAST_SLOTS']) delete process.env[name];
    }
  });

  const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    ...remoteEnvironment(stack.context.info, {
      name: 'second',
      home: remoteHome,
      engine: there.engine.settings.host ?? '',
    }),
    ...more,
  });
  async function join2(flags: readonly string[] = [], more: NodeJS.ProcessEnv = {}): Promise<RemoteWorker> {
    const worker = await remoteWorker(environment(more), ['--slots', SLOTS, ...flags]);
    remotes.push(worker);
    return worker;
  }
  /** Slow ones last for seconds, so that a busy machine has time to look at them. */
  async function begin(name: string, episodes: number, place: Place = {}, slow = true): Promise<string> {
    const model = { kind: 'scripted', errorRate: 0, turnDelayMs: slow ? 400 : 50 } as const;
    const ids = tasks.slice(0, episodes);
    const config = await attemptsConfig('eval', { model, benchmark: { repeat: 1 } }, createDeskbench(), ids);
    return (await launch(stack.context, name, config, episodes, place)).id;
  }
  async function allClean(id: string, planned: number): Promise<void> {
    const ledger = await stack.context.ledger();
    await until(`end of ${id}`, async () => (await ledger.campaign(id))?.state === 'done');
    const found = await stack.database.query(
      'SELECT fault_code, fault_message FROM tries WHERE fault_code IS NOT NULL',
    );
    const counts = await ledger.counts(id);
    expect(counts, JSON.stringify(found.rows)).toMatchObject({ planned, clean: planned, exhausted: 0 });
  }
  /** Tries of a campaign by the worker that began them. */
  async function players(id: string): Promise<Readonly<Record<string, number>>> {
    const { rows } = await stack.database.query<{ worker: string; tries: number }>(
      `SELECT t.worker, count(*)::int AS tries FROM tries t JOIN attempts a ON a.id = t.attempt_id
       WHERE a.campaign = $1 GROUP BY 1`,
      [id],
    );
    return Object.fromEntries(rows.map(({ worker, tries }) => [worker, tries]));
  }
  /** Whether they still run or not. */
  const containers = async ({ engine }: { readonly engine: OwnEngine }) =>
    (await (await openEngine(engine.settings)).listContainers({ all: true })).map(({ Names }) =>
      Names[0]!.slice(1),
    );
  const openOn = async (host: string): Promise<number> => {
    const { rows } = await stack.database.query(
      "SELECT 1 FROM sandboxes WHERE host = $1 AND state IN ('intended', 'created')",
      [host],
    );
    return rows.length;
  };

  test('a host without the artifact store is refused before it takes work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'no store '));
    const refused = remoteWorker(environment({ STEADFAST_ARTIFACTS: folder }));
    await expect(refused).rejects.toThrow(
      /exit code 2[\s\S]*STEADFAST_ARTIFACTS: expected the artifact store of this ledger/,
    );
    await rm(folder, { recursive: true });
  });

  test('episodes are played on both, each on its own engine', async () => {
    const remote = await join2();
    expect(remote.said()).toMatch(/sandbox worker second:\d+, queue sandbox: 4 slots/);
    const id = await begin('both', 16, {}, false);
    await allClean(id, 16);
    const by = await players(id);
    expect(by[remote.identity], JSON.stringify(by)).toBeGreaterThan(0);
    expect(Object.keys(by).filter((worker) => worker.startsWith('first:'))).toHaveLength(1);
  });

  test('a host without its engine takes nothing, and the other goes on', async () => {
    const remote = remotes[0]!;
    const id = await begin('half', 16);
    await until('episodes of the second host', async () => ((await players(id))[remote.identity] ?? 0) >= 4);
    await there.engine.down('SIGKILL');
    const before = (await players(id))[remote.identity] ?? 0;
    const ledger = await stack.context.ledger();
    // What waited is played by the first alone, tries that lost their container with the engine among it.
    await until('all but what it holds', async () => (await ledger.counts(id)).clean >= 16 - Number(SLOTS));
    expect((await players(id))[remote.identity], remote.said()).toBeLessThanOrEqual(before + Number(SLOTS));
    await there.engine.up();
    await allClean(id, 16);
  });

  test('what a killed worker of one host has left is ended there, never by the other', async () => {
    const remote = remotes[0]!;
    const id = await begin('killed', 16);
    await until('its containers', async () => (await containers(there)).length >= Number(SLOTS));
    await remote.end('SIGKILL');
    const left = await containers(there);
    const open = await openOn('second');
    expect(open).toBeGreaterThanOrEqual(Number(SLOTS));
    const driver = sandboxDrivers(home);
    const parts = { ledger: await stack.context.ledger(), driver };
    const own = { host: 'first', identity: 'first:0' };
    const swept = await sweepSandboxes({ ...parts, environment: own }, { starting: false });
    expect(swept.reaped).toEqual([]);
    // Servers may end by themselves without their worker; the ledger's rows wait for one of their own host.
    expect(await openOn('second')).toBe(open);
    await steadfast(home, 'stop', id);
    await join2();
    await until('the end of them', async () => {
      const now = await containers(there);
      return !left.some((name) => now.includes(name));
    });
  });

  test.skipIf(!LONG)(
    'a named pool plays what is asked of it, nothing else; SIGTERM lets episodes end',
    async () => {
      await expect(begin('nowhere', 2, { pool: 'gvisor' })).rejects.toThrow(
        /pool gvisor: expected a sandbox worker that polls it, found none/,
      );
      const apart = await join2(['--pool', 'gvisor'], { STEADFAST_DRAIN_SECONDS: '120' });
      const id = await begin('apart', 16, { pool: 'gvisor' });
      await until('four of them', async () => ((await players(id))[apart.identity] ?? 0) >= 4);
      expect(await apart.end('SIGTERM')).toBe(0);
      const by = await players(id);
      expect(Object.keys(by)).toEqual([apart.identity]);
      const counts = await (await stack.context.ledger()).counts(id);
      // All that it had begun has ended well, and the rest waits.
      expect(counts).toMatchObject({ clean: by[apart.identity], faults: {} });
      expect(counts.clean).toBeLessThan(16);
      await until('the rest', async () => (await waiting(stack.context, id)) === 16 - counts.clean);
      // Without a grace what is in flight is cut off, released, and played elsewhere.
      const hasty = await join2(['--pool', 'gvisor'], { STEADFAST_DRAIN_SECONDS: '0' });
      await until('its episodes', async () => ((await players(id))[hasty.identity] ?? 0) >= 4);
      expect(await hasty.end('SIGTERM')).toBe(0);
      const { rows } = await stack.database.query(
        "SELECT name FROM sandboxes WHERE worker = $1 AND state IN ('intended', 'created')",
        [hasty.identity],
      );
      expect(rows).toEqual([]);
      const said = await steadfast(home, 'pool', id, '', '--json');
      expect(JSON.parse(said.out)).toMatchObject({ id, state: { pool: null } });
      // What waits already stays where it is: another worker of the pool has to take it.
      await join2(['--pool', 'gvisor', '--slots', '8']);
      await allClean(id, 16);
    },
  );

  test('at the end nothing is left on either engine', async () => {
    for (const remote of remotes) await remote.end('SIGTERM');
    expect(await openOn('second')).toBe(0);
    expect(await containers(there)).toEqual([]);
  });
});
