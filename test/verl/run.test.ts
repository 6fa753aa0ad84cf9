/**
 * `steadfast train` with Verl as one job, on a real stack: checked, started, its worker killed, paused, stopped, gone on
 * with by the same command. Hosts are stand-ins for what they are asked; what starts the job is the worker itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import type { Reproducibility } from '../../core/reproducibility.js';
import type { JobNote } from '../../core/verl/job.js';
import { ROOT } from '../../infra/setup/root.mjs';
import type { StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { Cluster, healthyMoods } from '../stand-in-cluster/cluster.js';
import { localFile } from '../stand-in-cluster/material.js';
import { STAND_IN } from './host.js';

// Processes that are started and asked, on whatever else this machine has to do.
vi.setConfig({ testTimeout: 900_000 });

let home = '';
let folder = '';
let info: StackInfo;
let context: StackContext;
let cluster: Cluster;
let worker: ChildProcess | undefined;
let said = '';
let host = '';
const file = () => join(folder, 'q38.yaml');

beforeAll(async () => {
  home = temporaryHome();
  info = await startStack({ home });
  context = openStack(info);
  process.env.USER_KEY = 'a-user-key';
  process.env.JUDGE_KEY = 'a-judge-key';
  folder = mkdtempSync(join(tmpdir(), 'steadfast job '));
  cluster = new Cluster({
    folder,
    client: await context.temporal(),
    address: info.temporal.address,
  });
}, 300_000);

afterAll(async () => {
  await ended(worker);
  await cluster?.stop();
  await context?.close();
  await discard(home);
  rmSync(folder, { recursive: true, force: true });
});

/** The job's host: a worker of its server queue alone, since its stand-in answers the questions. */
function startWorker(): ChildProcess {
  said = '';
  const child = spawn(process.execPath, [join(ROOT, 'dist/test/stand-in-cluster/job-worker.js')], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: info.temporal.address,
      DATABASE_URL: info.databaseUrl,
      STEADFAST_HOME: home,
      STEADFAST_GPU_HOST: host,
      STAND_IN_MOOD: join(folder, 'mood.json'),
      STAND_IN_PARENT: String(process.pid),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr!.on('data', (text: Buffer) => {
    said += text;
  });
  return child;
}

/** Replaced as a whole: the stand-in reads it all the time. */
function mood(value: object): void {
  const beside = join(folder, 'mood.new');
  writeFileSync(beside, JSON.stringify(value));
  renameSync(beside, join(folder, 'mood.json'));
}

async function ended(
  child: ChildProcess | undefined,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<number | null> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
  const over = new Promise((done) => child.once('exit', done));
  child.kill(signal);
  await over;
  return child.exitCode;
}

const starts = (): readonly { pid: number; from: number; second: boolean }[] =>
  existsSync(join(folder, 'starts.jsonl'))
    ? readFileSync(join(folder, 'starts.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : [];

async function job(what: string, holds: (note: JobNote, state: string) => boolean): Promise<JobNote> {
  return until(what, async () => {
    const row = await (await context.ledger()).campaign('train/q38');
    const note = (row?.result as { job?: JobNote } | null)?.job;
    return note !== undefined && holds(note, row!.state) && note;
  });
}

it('is trained to its last step, whatever is killed, paused and stopped meanwhile', async () => {
  const local = localFile(info, `job-${process.pid}`);
  const hosts = local.trainer.hosts.slice(0, 2).map((each) => ({ ...each, gpus: 8 }));
  const checkpoints = join(folder, 'checkpoints');
  mkdirSync(checkpoints);
  const parts = {
    ...local,
    train: { ...local.train, steps: 12, saveEvery: 2 },
    trainer: { ...local.trainer, hosts, checkpoints, python: STAND_IN },
  };
  host = hosts[0]!.name;
  const other = hosts[1]!.name;
  const moods = healthyMoods(folder, parts).map(
    ({ places: { [checkpoints]: _, ...places }, ...healthy }) => ({
      ...healthy,
      places,
    }),
  );
  mood({ hold: 5 });
  writeFileSync(file(), JSON.stringify(parts));

  // Nobody polls the host's queue: the run is refused with what a dry run says.
  const refused = await steadfast(home, 'train', '--file', file(), '--detach');
  expect(refused.err).toContain('a run of which every check holds');
  expect(refused.err).toContain(`no worker polls its queue, gpu-${host}`);
  expect(refused.code).toBe(2);
  expect(await (await context.ledger()).campaign('train/q38')).toBeUndefined();

  await cluster.start(moods);
  worker = startWorker();
  const servings = await context.servings();
  const server = {
    ...{ id: 's-1', serving: 'night', host: other, port: 1, launch: 'x', log: 'x' },
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  };
  const spec = { weights: { folder: '/m', weightVersion: 'x' }, settings: VLLM, hosts: [] };
  await servings.want('night', spec, 'eval/night', new Date(Date.now() + 3_600_000));
  await servings.intendServer(server);
  const started = await steadfast(home, 'train', '--file', file(), '--detach');
  expect(started.err).toContain('train/q38 started.');
  expect(started.code).toBe(0);

  // What its hosts are is written down before it begins.
  const record = await until('its record', async () => {
    const place = join(home, 'reports/train/q38/reproducibility.json');
    return existsSync(place) && (JSON.parse(readFileSync(place, 'utf8')) as Reproducibility);
  });
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
  const inputs = { [parts.trainer.data.train]: sha256, [parts.trainer.agentLoop.config]: sha256 };
  expect(record.hashes).toMatchObject({ model: expect.stringMatching(/^sha256:/), data: inputs });
  expect(Object.keys(record.cluster!.hosts)).toEqual([host, other]);
  expect(record.cluster!.hosts[other]).toMatchObject({
    packages: parts.trainer.pins.packages,
    files: record.hashes.patches,
    inputs,
  });
  expect(record.cluster!.hosts[other]!.gpus).toHaveLength(8);

  // Nothing is started as long as weights are served on another of its hosts; then nothing is served there.
  await job('that it waits', (note) => note.state === 'waiting');
  const waiting = await steadfast(home, 'status', 'q38');
  expect(waiting.out).toContain(`job waiting on ${host}`);
  expect(waiting.out).toContain(
    `host_busy: a server of night, which eval/night needs, has the GPUs of ${other}`,
  );
  expect(starts()).toEqual([]);
  await servings.serverEnded(server.id, 'ended');

  await job('the checkpoint of step 4', ({ checkpoint }) => checkpoint === 4);
  await ended(worker);
  worker = startWorker();
  await until('the job taken over', async () => said.includes('taken over'));
  // A worker that is told to go leaves the job as well.
  expect(await ended(worker, 'SIGTERM'), said).toBe(0);
  worker = startWorker();
  await until('the job taken over again', async () => said.includes('taken over'));
  mood({ hold: 7 });
  await job('the checkpoint of step 6', ({ checkpoint }) => checkpoint === 6);
  expect((await steadfast(home, 'pause', 'q38')).code).toBe(0);
  await until('the end of the job', async () => !isThere(starts()[0]!.pid));
  expect(starts()).toHaveLength(1);
  // A run that has paused has no host.
  await until('its hosts given back', () =>
    servings.intendServer({ ...server, id: 's-2' }).then(
      () => true,
      () => false,
    ),
  );
  await servings.serverEnded('s-2', 'ended');

  mood({ hold: 9 });
  expect((await steadfast(home, 'unpause', 'q38')).code).toBe(0);
  await job('the checkpoint of step 8', ({ checkpoint, state }) => state === 'running' && checkpoint === 8);
  expect(starts()[1]).toMatchObject({ from: 6 });
  await expect(servings.intendServer({ ...server, id: 's-3' })).rejects.toThrow(
    `the job of train/q38 has the GPUs of ${other}`,
  );
  await servings.giveBack('eval/night');
  await servings.closeUnneeded('night');
  const shown = await steadfast(home, 'status', 'q38');
  expect(shown.out).toContain('step 8/12');
  expect(shown.out).toContain(`checkpoint 8, job running on ${host}`);
  expect((await steadfast(home, 'stop', 'q38')).code).toBe(0);
  await job('a stop', (_note, state) => state === 'stopped');
  expect(isThere(starts()[1]!.pid)).toBe(false);

  mood({});
  const again = await steadfast(home, 'train', '--file', file());
  expect(again.err).toContain('goes on where its committed rows end');
  expect(again.out).toContain('steps       12');
  expect(again.code).toBe(0);
  expect(starts().map(({ second }) => second)).toEqual([false, false, false]);
  expect(starts()[2]!.from).toBe(8);
  const ledger = await context.ledger();
  expect(await ledger.steps('train/q38')).toHaveLength(12);
  expect((await ledger.checkpoints('train/q38'))[0]).toMatchObject({ step: 12 });
  const verified = await steadfast(home, 'verify', 'ledger');
  expect(verified.code).toBe(0);

  // What a dry run says of an evaluation is what an evaluation would be: these weights behind a server of ours.
  const whole = await steadfast(home, 'evaluate', 'night', '--model', 'q38@latest', '--dry-run');
  expect(whole.out).toMatch(/"checkpoint": \{\s+"run": "train\/q38"/);
  expect(whole.out).toContain('"kind": "served"');
  expect(whole.out).toMatch(/checkpoint q38@12: \d+ files, all there and as long as recorded/);
  expect(whole.out).toContain(`host ${host}: 8 GPUs`);
  expect(whole.out).toContain('token parity: not known yet');
  expect(whole.code).toBe(0);
  const eighth = join(checkpoints, 'global_step_12/actor/model_world_size_16_rank_7.pt');
  truncateSync(eighth, 3);
  const serving = { tensorParallel: 16, chunkedPrefill: false };
  const model = { kind: 'served', checkpoint: { run: 'train/q38', step: 12 }, serving };
  writeFileSync(join(folder, 'night.yaml'), JSON.stringify({ model }));
  const dry = ['evaluate', 'night', '--file', join(folder, 'night.yaml'), '--dry-run'];
  const broken = await steadfast(home, ...dry);
  expect(broken.err).toContain(`${eighth}: expected a whole PyTorch archive, found 3 bytes`);
  expect(broken.err).toContain('GPU hosts: expected 16 GPUs on one host');
  expect(broken.err).toContain('serving.maxBatchedTokens: expected at least maxModelLength, 262144');
  expect(broken.code).toBe(2);
  // A start is refused for what no waiting mends; a host may still come.
  const real = await steadfast(home, ...dry.slice(0, -1));
  expect(real.err).toContain(`${eighth}: expected a whole PyTorch archive, found 3 bytes`);
  expect(real.err).toContain('expected weights that can be loaded, found 2 problems. Nothing was started.');
  expect(real.err).not.toContain('GPU hosts');
  expect(real.code).toBe(2);
  expect(await ledger.campaign('eval/night')).toBeUndefined();

  const done = await steadfast(home, 'extend', 'q38', '--steps', '20');
  expect(done.err).toContain('one that Verl trains as one job');
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
