/**
 * What histories of GPU hosts are recorded of: a job that waits for a host that serves weights, is paused, goes on and is
 * stopped; and a serving that waits for a host which the job has, gets it, loses it with its host, and ends on another.
 * Programs are stand-ins; hosts are real workers in processes of their own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import { servingId } from '../../core/keys.js';
import { runFileSchema } from '../../core/schemas/run-file.js';
import type { ServingRow } from '../../core/serving/servings.js';
import type { JobNote } from '../../core/verl/job.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { stackEnvironment } from '../../infra/stack/info.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { QUEUES, VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { STAND_IN as VLLM_STAND_IN, writeModel } from '../serving/host.js';
import { localFile } from '../stand-in-cluster/material.js';
import { STAND_IN as VERL_STAND_IN } from '../verl/host.js';

const SERVING = 'weights';
/** Workflow ids by the name under which a history is recorded. */
export const GPU_WORKFLOWS = { 'job-run': 'train/job', serving: servingId(SERVING) } as const;

/** `context` is of a stack of its own, in `home`. Ends everything that it has started. */
export async function playGpuHosts(context: StackContext, home: string): Promise<void> {
  const [a, b] = [`a${process.pid}`, `b${process.pid}`];
  const workers = new Map<string, ChildProcess>();
  const folder = join(home, 'gpu hosts');
  mkdirSync(folder);
  const mood = (value: object): void => {
    writeFileSync(join(folder, 'mood.new'), JSON.stringify(value));
    renameSync(join(folder, 'mood.new'), join(folder, 'mood.json'));
  };
  const start = (host: string): void => {
    const env = {
      ...process.env,
      ...stackEnvironment(context.info),
      STEADFAST_GPU_HOST: host,
      STEADFAST_STACK: home,
      STEADFAST_VLLM: JSON.stringify([process.execPath, VLLM_STAND_IN]),
      STAND_IN_MOOD: join(folder, 'mood.json'),
      STAND_IN_PARENT: String(process.pid),
    };
    const program = join(ROOT, 'dist/test/stand-in-cluster/job-worker.js');
    workers.set(host, spawn(process.execPath, [program], { env, stdio: 'ignore' }));
  };
  try {
    await play(context, { a, b, folder, mood, start, workers });
  } finally {
    await Promise.all([...workers.values()].map(killed));
  }
}

interface Parts {
  readonly a: string;
  readonly b: string;
  readonly folder: string;
  readonly mood: (value: object) => void;
  readonly start: (host: string) => void;
  readonly workers: ReadonlyMap<string, ChildProcess>;
}

async function play(context: StackContext, { a, b, folder, mood, start, workers }: Parts): Promise<void> {
  const [ledger, servings, client] = [
    await context.ledger(),
    await context.servings(),
    await context.temporal(),
  ];
  const weights = { folder: join(folder, 'model'), weightVersion: 'small' };
  await writeModel(weights.folder);
  const later = new Date(Date.now() + 3_600_000);
  const spec = { weights, settings: VLLM, hosts: [a, b] };
  const job = (what: string, holds: (note: JobNote, state: string) => boolean): Promise<JobNote> =>
    until(what, async () => {
      const row = await ledger.campaign(GPU_WORKFLOWS['job-run']);
      const note = (row?.result as { job?: JobNote } | null)?.job;
      return note !== undefined && holds(note, row!.state) && note;
    });
  const served = (what: string, holds: (row: ServingRow) => boolean): Promise<ServingRow> =>
    until(what, async () => {
      const row = await servings.serving(SERVING);
      return row !== undefined && holds(row) && row;
    });

  // Somebody serves on the job's second host, until it has waited.
  const other = { weights: { folder, weightVersion: 'other' }, settings: VLLM, hosts: [] };
  await servings.want('other', other, 'a person', later);
  const server = { id: 'other-1', serving: 'other', host: `${a}-2`, port: 1, launch: 'x', log: 'x' };
  await servings.intendServer({ ...server, expiresAt: later.toISOString() });
  mood({ hold: 3 });
  start(a);
  await launch(context, 'job', jobConfig(context, folder, a), 1);
  await job('that the job waits', ({ state }) => state === 'waiting');
  await servings.serverEnded('other-1', 'ended');
  await servings.giveBack('a person');
  await servings.closeUnneeded('other');
  await job('its second step', ({ step, checkpoint }) => step === 2 && checkpoint === 2);

  // The serving finds its first host taken and the second silent, in more rounds than a failure would have.
  await servings.want(SERVING, spec, 'test', later);
  await client.workflow.start('serving', {
    workflowId: GPU_WORKFLOWS.serving,
    taskQueue: QUEUES.pipeline,
    args: [{ serving: SERVING, hostMs: 2_000, roundMs: 500 }],
  });
  await until('four rounds of the serving', async () => {
    const { events } = await client.workflow.getHandle(GPU_WORKFLOWS.serving).fetchHistory();
    return events!.filter(({ timerFiredEventAttributes: timer }) => timer).length >= 4;
  });
  const run = client.workflow.getHandle(GPU_WORKFLOWS['job-run']);
  await run.executeUpdate('pause');
  await until('the pause', async () => (await ledger.campaign(GPU_WORKFLOWS['job-run']))?.state === 'paused');
  await served('the weights on the first host', ({ state, host }) => state === 'ready' && host === a);

  // Unpaused, the job waits for it; its host dies, and the weights move to the other one.
  await run.executeUpdate('unpause');
  await job(
    'that it waits again',
    ({ state, problem }) => state === 'waiting' && !!problem?.includes(SERVING),
  );
  await run.executeUpdate('stop', { args: ['now'] });
  start(b);
  await until(`host ${b}`, async () => (await servings.hosts()).some(({ name }) => name === b));
  const [lost] = await servings.openServers(a);
  await killed(workers.get(a)!);
  process.kill(-lost!.pid!, 'SIGKILL');
  await served('the weights on the second host', ({ state, host }) => state === 'ready' && host === b);
  await servings.giveBack('test');
  await client.workflow.getHandle(GPU_WORKFLOWS.serving).result();
  await run.result();
}

/** Four steps of a run whose job starts on one host and has another. */
function jobConfig({ info }: StackContext, folder: string, host: string) {
  const local = localFile(info, host);
  const [first, second] = local.trainer.hosts;
  const file = runFileSchema.parse({
    ...local,
    train: { ...local.train, steps: 4, saveEvery: 2 },
    trainer: {
      ...local.trainer,
      ...{ python: VERL_STAND_IN, checkpoints: join(folder, 'checkpoints') },
      hosts: [
        { ...first, name: host, gpus: 4 },
        { ...second, gpus: 4 },
      ],
    },
  });
  return uncheckedTrainConfig(file, createDeskbench(), ['a', 'b']);
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await over;
}
