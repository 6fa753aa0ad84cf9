/**
 * SIGTERM in the middle of what pipeline and GPU workers do: each ends with 0, nothing has failed, and the next worker
 * finds what was under way. A trainer is held by a proxy, a ledger by a lock, a question by a program that waits.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { packSettings } from '../../activities/host/compose.js';
import { createPool } from '../../activities/ledger/pool.js';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { servingName } from '../../activities/serving/control.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import { servingId } from '../../core/keys.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { QUEUES, VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { type HttpProxy, pass, startHttpProxy } from '../faults/http-proxy.js';
import { LONG } from '../long.js';
import { STAND_IN, writeModel } from '../serving/host.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { type RemoteWorker, remoteEnvironment, remoteWorker } from '../sharing/remote-worker.js';

/** A busy machine takes its time; `until` says what was not seen. */
vi.setConfig({ testTimeout: 300_000 });

const RUN = 'train/drained';
const HOST = `drained-${process.pid}`;
const home = temporaryHome();
const mood = join(home, 'mood.json');
let context: StackContext;
let trainer: HttpProxy;
const started: RemoteWorker[] = [];
let pipeline: RemoteWorker;

beforeAll(async () => {
  context = openStack(await startStack({ home, workers: { pipeline: 0, sandbox: 1, gpu: 0 } }));
  trainer = await startHttpProxy(context.info.trainerUrl);
  pipeline = await start('pipeline', 1);
}, 200_000);
afterAll(async () => {
  await Promise.all(started.map((worker) => worker.end('SIGKILL')));
  await context?.close();
  await discard(home);
  await trainer?.close();
});

/** `graceSeconds`: 1 where what is held is still held after it. */
async function start(
  kind: 'pipeline' | 'gpu',
  graceSeconds: number,
  flags: readonly string[] = [],
): Promise<RemoteWorker> {
  const env = {
    ...remoteEnvironment({ ...context.info, trainerUrl: trainer.url }, { name: 'elsewhere', home }),
    // What a stack ends at its end.
    STEADFAST_STACK: home,
    STEADFAST_DRAIN_SECONDS: String(graceSeconds),
    STEADFAST_VLLM: JSON.stringify([process.execPath, STAND_IN]),
    STAND_IN_MOOD: mood,
    STAND_IN_PARENT: String(process.pid),
  };
  const worker = await remoteWorker(env, flags, kind);
  started.push(worker);
  return worker;
}

/** Lets the trainer do what it is asked at `path`, and keeps the answers until it is told to go on. */
function hold(path: string): { done(): Promise<unknown>; asked(): number; goOn(): void } {
  let [asked, done, held] = [0, 0, true];
  trainer.intercept(async (request, forward) => {
    if (request.path !== path) return forward(request);
    asked += 1;
    const reply = await forward(request);
    done += 1;
    await until(`the word to go on after ${path}`, async () => !held);
    return reply;
  });
  return {
    done: () => until(`${path} done`, async () => done > 0),
    asked: () => asked,
    goOn: () => {
      held = false;
    },
  };
}

/** Why each activity of a workflow that is tried again was given back. */
async function givenBack(workflowId: string): Promise<readonly (string | null | undefined)[]> {
  const client = await context.temporal();
  return until(`what was given back of ${workflowId}`, async () => {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    const again = (raw.pendingActivities ?? []).filter(({ attempt }) => (attempt ?? 1) > 1);
    return again.length > 0 && again.map(({ lastFailure }) => lastFailure?.applicationFailureInfo?.type);
  });
}

async function untilDone(id: string): Promise<void> {
  const ledger = await context.ledger();
  await until(`the end of ${id}`, async () => {
    const state = (await ledger.campaign(id))?.state;
    if (state === 'failed' || state === 'paused') throw new Error(`${id} is ${state}`);
    return state === 'done';
  });
}

test('a training run whose workers are exchanged in the middle of an activity, an update and a checkpoint', async () => {
  const ledger = await context.ledger();
  const file = {
    seed: 11,
    train: {
      steps: 2,
      saveEvery: 1,
      plan: { learningRate: 7e-4 },
      shape: { groups: 2, groupSize: 4, maxGroups: 8, maxRefillRounds: 2, minInformative: 1 },
    },
  };
  const suite = createDeskbench();
  const config = await trainConfig(file, suite, (await chooseTasks(suite, 'train')).slice(0, 40));
  const update = hold('/trainer/update');
  let gpu = await start('gpu', 1);

  // The pipeline worker waits for a lock: its activity is given back while it is still waiting.
  const pool = createPool(context.info.databaseUrl, { max: 1 });
  const lock = await pool.connect();
  try {
    await lock.query('BEGIN');
    await lock.query('LOCK TABLE steps IN ACCESS EXCLUSIVE MODE');
    await launch(context, 'drained', config, 8);
    await until('a statement that waits', async () => {
      const { rows } = await lock.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      return rows.length > 0;
    });
    expect(await pipeline.end('SIGTERM'), pipeline.said()).toBe(0);
    expect(pipeline.said()).toContain('SIGTERM: takes no more work; what is under way has 1 s');
    expect(await givenBack(RUN)).toEqual(['WorkerShutdown']);
  } finally {
    await lock.query('ROLLBACK');
    lock.release();
    await pool.end();
  }
  await start('pipeline', 1);

  // The update is done, but its worker goes before it hears of it.
  await update.done();
  expect(await gpu.end('SIGTERM'), gpu.said()).toBe(0);
  expect(await givenBack(`${RUN}/step-0001`)).toEqual(['WorkerShutdown']);
  update.goOn();
  const checkpoint = hold('/trainer/checkpoint');
  gpu = await start('gpu', 1);
  await checkpoint.done();
  expect(update.asked()).toBe(1);
  expect(await gpu.end('SIGTERM'), gpu.said()).toBe(0);
  expect(await givenBack(`${RUN}/step-0001`)).toEqual(['WorkerShutdown']);
  checkpoint.goOn();

  // With a grace that is long enough the worker brings its update to the end.
  const last = hold('/trainer/update');
  gpu = await start('gpu', 100);
  await last.done();
  const ending = gpu.end('SIGTERM');
  await until('a drain', async () => gpu.said().includes('SIGTERM: takes no more work'));
  expect(await Promise.race([ending, Promise.resolve('at work')])).toBe('at work');
  last.goOn();
  expect(await ending, gpu.said()).toBe(0);
  expect((await ledger.operations(RUN)).map(({ step, state }) => [step, state])).toEqual([
    [1, 'done'],
    [2, 'done'],
  ]);
  trainer.intercept(pass);
  await start('gpu', 1);
  await untilDone(RUN);

  expect(last.asked()).toBe(1);
  const steps = await ledger.steps(RUN);
  expect(steps.map(({ step, state }) => [step, state])).toEqual([
    [1, 'done'],
    [2, 'done'],
  ]);
  expect((await ledger.checkpoints(RUN)).map(({ step }) => step)).toEqual([2, 1]);
  expect(await ledger.restores(RUN)).toEqual([]);
  expect(await ledger.counts(RUN)).toMatchObject({ pending: 0, exhausted: 0, faults: {} });
});

test.skipIf(!LONG)('a second signal ends a worker at once, and what it had goes on elsewhere', async () => {
  const suite = createDeskbench();
  const file = {
    seed: 12,
    train: { steps: 1, plan: { learningRate: 7e-4 }, shape: { groups: 2, groupSize: 4, minInformative: 1 } },
  };
  const update = hold('/trainer/update');
  const [old] = started.splice(-1);
  expect(await old!.end('SIGTERM')).toBe(0);
  const hasty = await start('gpu', 1_000);
  const config = await trainConfig(file, suite, (await chooseTasks(suite, 'train')).slice(0, 40));
  const { id } = await launch(context, 'hasty', config, 8);
  await update.done();
  const ending = hasty.end('SIGTERM');
  await until('a drain', async () => hasty.said().includes('SIGTERM: takes no more work'));
  expect(await hasty.end('SIGTERM')).toBe(143);
  expect(await ending).toBe(143);
  update.goOn();
  trainer.intercept(pass);
  await start('gpu', 1);
  await untilDone(id);
  expect(update.asked()).toBe(1);
});

test('a worker that waits for Temporal has nothing to finish', async () => {
  const env = {
    ...remoteEnvironment(context.info, { name: 'early', home }),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  };
  const waiting = 'waiting for Temporal at 127.0.0.1:1';
  const each = await Promise.all([
    remoteWorker(env, [], 'pipeline', waiting),
    remoteWorker(env, [], 'sandbox', waiting),
    remoteWorker(env, [], 'gpu', waiting),
    remoteWorker(env, ['--host', HOST], 'gpu', waiting),
  ]);
  expect(await Promise.all(each.map((worker) => worker.end('SIGTERM')))).toEqual([0, 0, 0, 0]);
});

test.skipIf(!LONG)(
  'the worker of a GPU host leaves its server, coming up or ready, to the next',
  async () => {
    const servings = await context.servings();
    const folder = join(home, 'model');
    await writeModel(folder);
    const weights = { folder, weightVersion: `sha256:${'a'.repeat(64)}` };
    const name = servingName({ run: RUN, step: 0 }, VLLM);
    const server = () =>
      until('a server', async () => {
        const [open] = await servings.openServers(HOST);
        return open?.pid != null && open;
      });
    const ready = (worker: RemoteWorker) =>
      until('ready weights', async () => {
        const told = /process \d+ (ready|taken over)/.test(worker.said());
        return told && (await servings.serving(name))?.state === 'ready';
      });

    writeFileSync(mood, JSON.stringify({ silent: true }));
    let worker = await start('gpu', 100, ['--host', HOST]);
    await until('the host', async () => (await servings.hosts()).some((host) => host.name === HOST));
    await servings.want(name, { weights, settings: VLLM, hosts: [] }, 'test', new Date(Date.now() + 600_000));
    const handle = await (await context.temporal()).workflow.start('serving', {
      workflowId: servingId(name),
      taskQueue: QUEUES.pipeline,
      args: [{ serving: name }],
    });
    const { id, pid } = await server();
    // Its own grace is none: it would only be waited for.
    expect(await worker.end('SIGTERM'), worker.said()).toBe(0);
    expect(await markedProcesses(id, 'STEADFAST_SERVER'), worker.said()).not.toEqual([]);

    // More exchanges than an activity may fail.
    for (let exchange = 0; exchange < 4; exchange++) {
      writeFileSync(mood, '{}');
      worker = await start('gpu', 100, ['--host', HOST]);
      await ready(worker);
      expect(worker.said()).toContain(`process ${pid} taken over`);
      expect(await worker.end('SIGTERM'), worker.said()).toBe(0);
    }
    expect(await servings.serving(name)).toMatchObject({ state: 'ready', restarts: 0, problem: null });
    expect((await server()).id).toBe(id);

    worker = await start('gpu', 100, ['--host', HOST]);
    await servings.giveBack('test', name);
    expect(await handle.result()).toEqual({ state: 'stopped' });
    expect(await markedProcesses(id, 'STEADFAST_SERVER')).toEqual([]);
    expect(await worker.end('SIGTERM'), worker.said()).toBe(0);
  },
);

test('a question of a preflight that is being answered is answered', async () => {
  const folder = join(home, 'slow python');
  mkdirSync(folder);
  const [python, began, go] = ['python', 'began', 'go'].map((name) => join(folder, name));
  const answer = '{"digest": null, "refused": {"x": "asked"}}';
  const lines = [
    '#!/bin/sh',
    `touch '${began}'`,
    `until [ -e '${go}' ]; do sleep 0.1; done`,
    `echo '${answer}'`,
  ];
  writeFileSync(python!, `${lines.join('\n')}\n`, { mode: 0o755 });
  const worker = await start('gpu', 100, ['--host', HOST]);
  const question = { host: HOST, activity: 'composeVerl', args: [python, packSettings(['a=1'])] };
  const handle = await (await context.temporal()).workflow.start('askHost', {
    workflowId: `ask/${HOST}`,
    taskQueue: QUEUES.pipeline,
    args: [question],
  });
  await until('a question', async () => existsSync(began!));
  const ending = worker.end('SIGTERM');
  await until('a drain', async () => worker.said().includes('SIGTERM: takes no more work'));
  writeFileSync(go!, '');
  expect(await ending, worker.said()).toBe(0);
  expect(await handle.result()).toEqual(JSON.parse(answer));
});
