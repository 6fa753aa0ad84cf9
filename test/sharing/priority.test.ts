/**
 * Campaigns that share few slots, on a real stack: a training step goes before an evaluation that fills the pool, the
 * evaluation goes on all the same, two evaluations get the same, and a running one can be moved up. What counts is the
 * order in which tries were begun, never how long it took.
 */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig, trainConfig } from '../../cli/run/resolve.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { freePort } from '../../infra/stack/free-port.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { ROOT } from '../import-graph.js';
import { LONG } from '../long.js';
import { steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { count, order, waiting } from './pool.js';
import { remoteEnvironment, remoteWorker } from './remote-worker.js';
import { certificates, findOpenssl, tlsInFront } from './tls.js';

const SLOTS = 4;
/** Far more than there are slots, so that somebody of each campaign always waits. */
const LANES = 48;
/** Episodes of the step that are looked at, of 96. */
const HALF = 40;

const SCRIPTED = { kind: 'scripted', errorRate: 0, turnDelayMs: 60 } as const;

const run = promisify(execFile);
const suite = createDeskbench();
const openssl = findOpenssl();
if (openssl === undefined) process.stderr.write('the test of TLS is skipped: no openssl 3\n');
let home = '';
let context: StackContext;
let pool: pg.Pool;
let ledger: Ledger & LedgerReads;
let tasks: readonly string[] = [];

beforeAll(async () => {
  process.env.STEADFAST_SLOTS = String(SLOTS);
  home = temporaryHome();
  const info = await startStack({ home });
  context = openStack(info);
  ledger = await context.ledger();
  pool = createPool(info.databaseUrl, { max: 1 });
  tasks = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
}, 200_000);
afterAll(async () => {
  delete process.env.STEADFAST_SLOTS;
  await pool?.end();
  await context?.close();
  await discard(home);
});

/** Starts an evaluation of 300 attempts, and waits until its episodes queue up. */
async function evaluation(name: string, place = {}): Promise<string> {
  const file: RunFile = {
    model: { kind: 'scripted', errorRate: 0, turnDelayMs: 60 },
    benchmark: { repeat: 30 },
  };
  const config = await attemptsConfig('eval', file, suite, tasks.slice(0, 10));
  const { id } = await launch(context, name, config, LANES, place);
  await until(`${id} waits`, async () => (await waiting(context, id)) >= LANES - 2 * SLOTS);
  return id;
}

const stop = (id: string) => steadfast(home, 'stop', id);
const begun = async (): Promise<number> => (await order(pool)).length;

/** The next `many` tries that are begun from now on. */
async function next(many: number): Promise<readonly string[]> {
  const from = await begun();
  await until(`${many} more tries`, async () => (await begun()) >= from + many);
  return (await order(pool, from)).slice(0, many);
}

it.skipIf(!LONG)(
  'the episodes of a training step go before those of an evaluation, which still goes on',
  async () => {
    const night = await evaluation('night');
    const file: RunFile = {
      seed: 3,
      train: {
        steps: 1,
        plan: { learningRate: 7e-4 },
        shape: { groups: 12, groupSize: 8, maxGroups: 12, minInformative: 1 },
      },
    };
    const { id } = await launch(context, 'step', await trainConfig(file, suite, tasks.slice(0, 20)), LANES);
    await until('the step waits', async () => {
      const { state, result } = (await ledger.campaign(id))!;
      if (state !== 'running') throw new Error(`${id} is ${state}: ${JSON.stringify(result)}`);
      return (await waiting(context, id)) >= HALF;
    });
    const from = await begun();
    await until('half of the step', async () => count(await order(pool, from), id) >= HALF);
    const all = await order(pool, from);
    const half = all.filter((_, index) => count(all.slice(0, index), id) < HALF);
    // The evaluation's were there before: in the order of arrival more than 40 of them would come first.
    expect(count(half, night), half.join(' ')).toBeLessThanOrEqual(HALF / 4 + SLOTS);
    // But it does not stand still either.
    expect(count(half, night), half.join(' ')).toBeGreaterThanOrEqual(1);
    await stop(id);
    await stop(night);
  },
);

it.skipIf(!LONG)('two evaluations share evenly, and one that is moved up goes first', async () => {
  const early = await evaluation('early');
  const late = await evaluation('late');
  const both = await next(60);

  expect(count(both, late)).toBeGreaterThanOrEqual(20);
  expect(count(both, early)).toBeGreaterThanOrEqual(20);

  const said = await steadfast(home, 'priority', late, 'high', '--json');
  expect(JSON.parse(said.out)).toEqual({ id: late, state: { paused: false, stop: 'no', priority: 'high' } });
  // Those that wait stay where they are; those that come are on the higher level.
  await next(LANES);
  const then = await next(40);

  expect(count(then, late)).toBeGreaterThanOrEqual(30);
  expect(count(then, early)).toBeGreaterThanOrEqual(1);
  const nonsense = await steadfast(home, 'priority', late, 'highest');
  expect(nonsense.code).toBe(2);
  await stop(early);
  await stop(late);
});

it.skipIf(!LONG || openssl === undefined)(
  'a worker that reaches Temporal over TLS plays what is asked of its pool',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'steadfast tls '));
    const made = await certificates(folder);
    const front = await tlsInFront(context.info.temporal.address, made);
    const metrics = `127.0.0.1:${await freePort()}`;
    const env = {
      ...remoteEnvironment(context.info, { name: 'afar', home: folder }),
      STEADFAST_METRICS_ADDRESS: metrics,
      TEMPORAL_ADDRESS: front.address,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.ca,
      TEMPORAL_TLS_SERVER_NAME: 'temporal.test',
      TEMPORAL_TLS_CLIENT_CERT_PATH: made.client.cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: made.client.key,
    };
    const strangers = join(folder, 'strangers');
    mkdirSync(strangers);
    const { client } = await certificates(strangers);
    const strange = {
      ...env,
      TEMPORAL_TLS_CLIENT_CERT_PATH: client.cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: client.key,
    };
    await expect(remoteWorker(strange)).rejects.toThrow(
      /exit code 2[\s\S]*Temporal at .*: expected certificates that both sides accept/,
    );
    const worker = await remoteWorker(env, ['--pool', 'afar', '--slots', '8']);
    try {
      expect(front.clients()).toBeGreaterThan(0);
      const config = await attemptsConfig(
        'eval',
        { model: SCRIPTED, benchmark: { repeat: 1 } },
        suite,
        tasks.slice(0, 12),
      );
      const { id } = await launch(context, 'afar', config, 12, { pool: 'afar' });
      await until('done', async () => (await ledger.campaign(id))?.state === 'done');
      expect(await ledger.counts(id)).toMatchObject({ clean: 12, faults: {} });
      const { rows } = await pool.query(
        'SELECT DISTINCT t.worker FROM tries t JOIN attempts a ON a.id = t.attempt_id WHERE a.campaign = $1',
        [id],
      );
      expect(rows).toEqual([{ worker: worker.identity }]);
      const told = await (await fetch(`http://${metrics}/metrics`)).text();
      expect(told).toMatch(/^temporal_\w+\{.*task_queue="sandbox-afar"/m);
      expect(told).toMatch(/^steadfast_activity_seconds_count\{.*runEpisode.*\} 12$/m);
      expect(told).toMatch(/^steadfast_sandbox_starts_total\{.*result="started".*\} 12$/m);
      // The command line reaches it by the same variables.
      const asked = run(process.execPath, [join(ROOT, 'cli', 'steadfast.mjs'), 'pool', id, 'nowhere'], {
        env,
      });
      const refused = expect.stringMatching(/pool nowhere: expected a sandbox worker that polls it/);
      await expect(asked).rejects.toMatchObject({ code: 2, stderr: refused });
    } finally {
      expect(await worker.end('SIGTERM')).toBe(0);
      front.stop();
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);
