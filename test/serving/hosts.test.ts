/**
 * A whole stack with two GPU hosts: an evaluation of a checkpoint starts its own server, a host that dies in the middle
 * is missed, the work moves to the other one, and nothing is scored that was not sampled from those weights.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { servingName } from '../../activities/serving/control.js';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import { servingId } from '../../core/keys.js';
import type { ServingRow } from '../../core/serving/servings.js';
import { stackEnvironment } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { QUEUES, VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { inProcess } from '../in-process.js';
import { claim } from '../ledger/fixtures.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { BASE, ROOT } from '../trainer/server.js';
import { STAND_IN } from './host.js';

/** A busy machine takes its time; `until` says what was not seen. */
vi.setConfig({ testTimeout: 300_000 });

const RUN = 'train/small';
const SERVING = servingName({ run: RUN, step: 0 }, VLLM);
const MAKER = path.join(import.meta.dirname, 'fixtures', 'stand-in-maker.mjs');
const [A, B] = [`a${process.pid}`, `b${process.pid}`];

let home = '';
let context: StackContext;
const workers = new Map<string, ChildProcess>();

beforeAll(async () => {
  home = temporaryHome();
  context = openStack(await startStack({ home }));
}, 200_000);
afterAll(async () => {
  for (const worker of workers.values()) if (worker.exitCode === null) worker.kill('SIGKILL');
  await context?.close();
  await discard(home);
});

function startHost(name: string): void {
  const log = openSync(path.join(home, 'logs', `host-${name}.log`), 'a');
  const worker = spawn(process.execPath, [path.join(ROOT, 'dist', 'workers', 'gpu-host.js')], {
    env: {
      ...process.env,
      ...stackEnvironment({ ...context.info }),
      STEADFAST_GPU_HOST: name,
      // What a stack ends at its end.
      STEADFAST_STACK: home,
      STEADFAST_VLLM: JSON.stringify([process.execPath, STAND_IN]),
      STEADFAST_MAKE_MODEL: JSON.stringify([process.execPath, MAKER, '{folder}', '{out}', BASE]),
      STAND_IN_UPSTREAM: context.info.trainerUrl,
      STAND_IN_PARENT: String(process.pid),
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  workers.set(name, worker);
}

/** The ledger has heard of the host; throws when its worker has ended instead. */
async function seen(name: string): Promise<void> {
  const servings = await context.servings();
  const worker = workers.get(name)!;
  await until(`host ${name}`, async () => {
    if (worker.exitCode !== null) {
      const said = readFileSync(path.join(home, 'logs', `host-${name}.log`), 'utf8');
      throw new Error(`the worker of ${name} ended with ${worker.exitCode}: ${said.slice(-1_000)}`);
    }
    const hosts = await servings.hosts();
    return hosts.some((host) => host.name === name && host.worker.endsWith(`:${worker.pid}`));
  });
}

async function serving(what: string, holds: (row: ServingRow) => boolean): Promise<ServingRow> {
  const servings = await context.servings();
  return until(what, async () => {
    const row = await servings.serving(SERVING);
    return row !== undefined && holds(row) && row;
  });
}

/** The base's weights as a checkpoint of a run, which the trainer samples from as well: it stands behind the stand-in. */
async function checkpoint(): Promise<string> {
  const trainer = createTrainerClient({ url: context.info.trainerUrl });
  const { signal } = new AbortController();
  await trainer.open(RUN, undefined, signal);
  const { path: folder, manifest } = await trainer.checkpoint(
    RUN,
    path.join(home, 'checkpoints', 'small'),
    signal,
  );
  await trainer.serve(folder, signal);
  const ledger = await context.ledger();
  await ledger.claimCampaign(claim(RUN, { kind: 'train', tasks: [] }));
  await ledger.putCheckpoint({ run: RUN, step: 0, path: folder, manifest });
  return manifest.weightDigest;
}

test('an evaluation goes on when the host of its weights dies', async () => {
  const weightVersion = await checkpoint();
  const servings = await context.servings();
  startHost(A);
  await seen(A);

  // With short waits for hosts that take nothing; the evaluation finds the workflow that runs already.
  const { manifest, path: folder } = (await (await context.ledger()).checkpoints(RUN))[0]!;
  const spec = { weights: { folder, weightVersion, files: manifest.files }, settings: VLLM, hosts: [] };
  await servings.want(SERVING, spec, 'test', new Date(Date.now() + 600_000));
  await (await context.temporal()).workflow.start('serving', {
    workflowId: servingId(SERVING),
    taskQueue: QUEUES.pipeline,
    args: [{ serving: SERVING, hostMs: 3_000, roundMs: 500 }],
  });
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'benchmark').map(({ id }) => id);
  const model = { kind: 'served', checkpoint: { run: RUN, step: 'latest' }, format: 'qwen3_xml' } as const;
  const config = await attemptsConfig('eval', { model, benchmark: { repeat: 4 } }, suite, tasks.slice(0, 10));
  const { id } = await launch(context, 'served', config, 1);
  const ledger = await context.ledger();
  await until('first results', async () => (await ledger.counts(id)).clean > 0);
  const first = (await servings.openServers(A))[0]!;
  expect((await servings.serving(SERVING))?.host).toBe(A);

  startHost(B);
  await seen(B);
  // The host dies: its worker, and the server with it.
  workers.get(A)!.kill('SIGKILL');
  process.kill(-first.pid!, 'SIGKILL');
  const moved = await serving(
    'the weights on the other host',
    ({ host, state }) => host === B && state === 'ready',
  );
  expect(moved.weightVersion).toBe(weightVersion);

  await until('the end of the evaluation', async () => (await ledger.campaign(id))?.state === 'done');
  expect(await ledger.counts(id)).toMatchObject({ planned: 40, clean: 40, exhausted: 0 });
  const rows = await ledger.attempts(id);
  expect(new Set(rows.map((row) => row.weightVersion))).toEqual(new Set([weightVersion]));
  expect((await ledger.campaign(id))?.result).toMatchObject({
    parity: { state: 'proven' },
    checkpoint: { step: 0 },
  });
  await serving('that the evaluation needs them no more', ({ holders }) => holders.join() === 'test');
});

test('a worker that comes back ends what it had', async () => {
  const servings = await context.servings();
  startHost(A);
  await seen(A);
  await until('nothing left on it', async () => (await servings.openServers(A)).length === 0);
});

test('what cannot be served is said, and what is not meant', async () => {
  process.env.STEADFAST_HOME = home;
  const folder = path.join(home, 'broken');
  await mkdir(folder);
  await writeFile(path.join(folder, 'config.json'), '{}');
  const broken = await inProcess('serve', 'start', folder);
  expect(broken.code).toBe(1);
  expect(broken.out).toMatch(/^broken {2}failed/);
  expect(broken.out).toContain('model.safetensors: expected a shard of the model, found ENOENT');
  const refused = async (...args: string[]) => {
    const { code, err } = await inProcess('serve', ...args);
    expect(code).toBe(2);
    return err;
  };
  expect(await refused('start', 'small')).toContain('expected RUN@STEP, RUN@latest or an absolute folder');
  expect(await refused('start', 'small@7')).toContain(
    'expected a checkpoint of train/small: 0, found small@7',
  );
  expect(await refused('start', 'small@0', '--host', `${B}x`)).toContain(`Did you mean ${B}?`);
  expect(await refused('stop', 'brokn')).toContain('Did you mean broken?');
});

test('what nobody needs is stopped everywhere', async () => {
  const servings = await context.servings();
  const listed = await inProcess('serve', 'list', '--json');
  const rows: readonly ServingRow[] = JSON.parse(listed.out).servings;
  const shown = new Map(rows.map(({ name, state, host }) => [name, `${state} on ${host}`]));
  expect(shown.get(SERVING)).toBe(`ready on ${B}`);
  expect(shown.get('broken')).toMatch(/^failed/);
  const { id } = (await servings.openServers(B))[0]!;
  const stopped = await inProcess('serve', 'stop', SERVING, '--now');
  expect(stopped).toMatchObject({ code: 0, out: `${SERVING} is being ended\n` });
  await until('no server', async () => (await servings.openServers(B)).length === 0);
  expect(await markedProcesses(id, 'STEADFAST_SERVER')).toEqual([]);
  const client = await context.temporal();
  expect(await client.workflow.getHandle(servingId(SERVING)).result()).toEqual({ state: 'stopped' });

  // A worker that is told to stop leaves nothing behind either.
  for (const name of [A, B]) {
    const worker = workers.get(name)!;
    worker.kill('SIGTERM');
    if (worker.exitCode === null) await once(worker, 'exit');
    expect(worker.exitCode).toBe(0);
  }
});
