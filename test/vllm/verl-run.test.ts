/**
 * A run of Verl's, evaluated: its checkpoint is two real shards of FSDP2, which the ledger has recorded, Verl's own program
 * merges and a real vLLM serves. The job that saves them is a stand-in. Skipped without both;
 * STEADFAST_VERL_PYTHON names a Python that imports verl, torch and transformers:
 *
 *   STEADFAST_VERL_PYTHON=… npx vitest run test/vllm/verl-run.test.ts       some minutes
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import { runFileSchema } from '../../core/schemas/run-file.js';
import { stackEnvironment } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { modelFolder } from '../render-parity/models.js';
import { steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { localFile } from '../stand-in-cluster/material.js';
import { ROOT } from '../trainer/server.js';
import { STAND_IN } from '../verl/host.js';
import { makeTinyQwen3, vllmPython } from './engine.js';
import { CPU, SMALL, slowly } from './real.js';

const vllm = vllmPython();
const verl = process.env.STEADFAST_VERL_PYTHON;
const WRITE_SHARDS = path.join(import.meta.dirname, '..', 'serving', 'fixtures', 'write-shards.py');
const HOST = `verl-run-${process.pid}`;

describe.skipIf(vllm === undefined || !verl)('a checkpoint of a run of Verl', () => {
  let home: string;
  let folder: string;
  let context: StackContext;
  let worker: ChildProcess | undefined;

  beforeAll(async () => {
    home = temporaryHome();
    folder = mkdtempSync(path.join(tmpdir(), 'verl run '));
    context = openStack(await startStack({ home }));
    const model = path.join(folder, 'tiny');
    await makeTinyQwen3(vllm!, modelFolder('qwen3'), model);
    const saved = path.join(folder, 'saved');
    const args = ['-m', 'torch.distributed.run', '--nproc-per-node', '2', WRITE_SHARDS, model, saved];
    await promisify(execFile)(verl!, args);
    mkdirSync(path.join(folder, 'checkpoints'));
    writeFileSync(path.join(folder, 'mood.json'), JSON.stringify({ saved }));
    worker = startWorker();
  }, 900_000);
  afterAll(async () => {
    await ended(worker);
    await context?.close();
    await discard(home);
    rmSync(folder, { recursive: true, force: true });
  }, 300_000);

  function startWorker(): ChildProcess {
    const merge = [
      ...[verl!, '-m', 'verl.model_merger', 'merge', '--backend', 'fsdp'],
      ...['--local_dir', '{folder}', '--target_dir', '{out}'],
    ];
    const env = {
      ...process.env,
      ...stackEnvironment(context.info),
      ...CPU,
      STEADFAST_GPU_HOST: HOST,
      STEADFAST_VLLM: path.join(path.dirname(vllm!), 'vllm'),
      STEADFAST_MERGE_MODEL: JSON.stringify(merge),
      STAND_IN_MOOD: path.join(folder, 'mood.json'),
      STAND_IN_PARENT: String(process.pid),
    };
    const program = path.join(ROOT, 'dist/test/stand-in-cluster/job-worker.js');
    return spawn(process.execPath, [program], { env, stdio: 'ignore' });
  }

  function jobConfig() {
    const local = localFile(context.info, HOST);
    const { tensorParallel, maxSequences, extraArguments } = SMALL;
    const file = runFileSchema.parse({
      ...local,
      train: { ...local.train, steps: 2, saveEvery: 2 },
      trainer: {
        ...local.trainer,
        ...{ python: STAND_IN, checkpoints: path.join(folder, 'checkpoints') },
        hosts: [{ name: HOST, gpus: 2 }],
        serving: { tensorParallel, maxSequences, extraArguments, maxModelLength: 8_192 },
      },
    });
    return uncheckedTrainConfig(file, createDeskbench(), ['a', 'b']);
  }

  test('that the ledger has is merged by Verl, served by vLLM and evaluated', async () => {
    const ledger = await context.ledger();
    await launch(context, 'q', jobConfig(), 1);
    await until('the end of the run', async () => (await ledger.campaign('train/q'))?.state === 'done');
    expect(await ledger.checkpoints('train/q')).toMatchObject([{ step: 2 }]);
    expect((await steadfast(home, 'verify', 'checkpoint', 'q@2')).code).toBe(0);

    // A model of random weights: it says nothing, and not for long.
    const limits = { promptTokens: 6_000, tokensPerCall: 24, tokensPerEpisode: 72, userTurns: 1 };
    const file = path.join(folder, 'night.json');
    writeFileSync(file, JSON.stringify({ limits: { ...limits, agentActions: 3 }, benchmark: { limit: 4 } }));
    const args = ['night', '--model', 'served:q@latest', '--file', file, '--repeat', '1', '--detach'];
    const started = await steadfast(home, 'evaluate', ...args);
    expect(started.err).toContain('eval/night started.');
    const night = await slowly(() =>
      until('the end of the evaluation', async () => {
        const row = await ledger.campaign('eval/night');
        return row?.state !== 'running' && row;
      }),
    );
    expect(night).toMatchObject({ state: 'done' });
    const attempts = await ledger.attempts('eval/night');
    expect(attempts.map(({ state }) => state)).toEqual(['clean', 'clean', 'clean', 'clean']);
    expect((await steadfast(home, 'verify', 'ledger')).code).toBe(0);
  }, 1_200_000);
});

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const over = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await over;
}
