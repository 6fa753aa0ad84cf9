/**
 * Three steps of GRPO on deskbench with a tiny Qwen 3 in PyTorch, through the whole pipeline: once undisturbed, and once
 * with the trainer and the sandbox worker killed in step 2. Both end with the same bytes. Skipped without PyTorch.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openStack } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import { requireTrainerSupport } from '../../cli/run/trainer-support.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { memoryOf, readProcesses, treeSeconds } from '../bench/process-times.js';
import { untilEnded } from '../e2e/small-run.js';
import { discard, killHard, temporaryHome } from '../setup/harness.js';
import { taughtModel, torchPython } from './tiny-model.js';

const RUN = 'train/torch';
const LANES = 8;
const LIMIT_MS = 20 * 60_000;

const python = torchPython();

describe.skipIf(python === undefined)('GRPO with the PyTorch trainer', () => {
  let folder = '';
  let model = '';
  let file: RunFile;
  let config: TrainConfig;
  const homes: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'torch-grpo-'));
    model = path.join(folder, 'model');
    const suite = createDeskbench();
    const pool = (await chooseTasks(suite, 'train')).filter((_id, index) => index % 9 === 0).slice(0, 8);
    say(`taught: ${await taughtModel(python!, model, pool)}`);
    file = {
      seed: 11,
      trainer: { kind: 'torch', model, dtype: 'float32', gradientCheckpointing: false },
      limits: { tokensPerCall: 64, tokensPerEpisode: 256 },
      train: {
        steps: 3,
        saveEvery: 3,
        plan: { learningRate: 1e-4 },
        shape: { groups: 4, groupSize: 4, maxGroups: 8, maxRefillRounds: 1, minInformative: 1 },
      },
    };
    config = await trainConfig(file, suite, pool);
  }, LIMIT_MS);
  afterEach(async () => {
    for (const home of homes.splice(0)) await discard(home);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it(
    'a run that is killed in the middle ends with the bytes of one that was left alone',
    async () => {
      const undisturbed = await trained(async () => undefined);
      let killed = 0;
      const disturbed = await trained(async (ledger, home) => {
        await whileSampling(ledger, 2);
        for (const name of ['trainer', 'worker-sandbox']) {
          const victim = readState(home)!.processes.find((process) => process.name === name)!;
          await killHard(victim);
          killed++;
        }
      });
      expect(killed).toBe(2);
      expect(disturbed.restores).toBeGreaterThan(0);
      expect(new Set(undisturbed.weights).size).toBe(3);
      expect(disturbed).toEqual({ ...undisturbed, restores: disturbed.restores });
    },
    2 * LIMIT_MS,
  );

  /** Runs the configuration on a stack of its own, with `disturb` beside it. */
  async function trained(disturb: (ledger: Ledger & LedgerReads, home: string) => Promise<void>) {
    const home = temporaryHome();
    homes.push(home);
    process.env.STEADFAST_TRAINER = 'torch';
    process.env.STEADFAST_TRAINER_MODEL = model;
    process.env.STEADFAST_TORCH_PYTHON = python;
    const info: StackInfo = await startStack({ home });
    const context = openStack(info);
    try {
      await requireTrainerSupport(config, info.trainerUrl);
      const ledger = await context.ledger();
      const from = performance.now();
      await launch(context, 'torch', config, LANES);
      await disturb(ledger, home);
      expect(await untilEnded(() => info, RUN, LIMIT_MS)).toBe('done');
      say(`${((performance.now() - from) / 1_000).toFixed(0)} s; ${spent(home)}`);
      const steps = await ledger.steps(RUN);
      say(JSON.stringify(steps.map(({ metrics }) => metrics)));
      return {
        weights: steps.map(({ weightDigest }) => weightDigest),
        batches: steps.map(({ batchDigest }) => batchDigest),
        episodes: (await ledger.attempts(RUN)).map(
          ({ key, state, reward, usage, weightVersion }) =>
            `${key} ${state} ${reward} ${usage?.policySampledTokens} ${weightVersion}`,
        ),
        checkpoints: (await ledger.checkpoints(RUN)).map(({ step, manifest }) => [
          step,
          manifest.weightDigest,
          manifest.optimizerDigest,
        ]),
        restores: (await ledger.restores(RUN)).length,
      };
    } finally {
      for (const name of ['STEADFAST_TRAINER', 'STEADFAST_TRAINER_MODEL', 'STEADFAST_TORCH_PYTHON'])
        delete process.env[name];
      await context.close();
      await discard(home);
    }
  }
});

/** Returns when the step has begun to sample and some of its episodes are clean. */
async function whileSampling(ledger: Ledger & LedgerReads, step: number): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    const rows = await ledger.attempts(RUN, { step });
    if (rows.some(({ state }) => state === 'clean')) return;
    if (Date.now() > deadline) throw new Error(`step ${step} of ${RUN} has not begun`);
    await sleep(50);
  }
}

/** CPU-seconds and memory of the stack's processes, as long as they live. */
function spent(home: string): string {
  const table = readProcesses();
  return readState(home)!
    .processes.map(
      ({ name, pid }) =>
        `${name} ${treeSeconds(pid, table).toFixed(0)} s ${(memoryOf(pid).bytes / 1e6).toFixed(0)} MB`,
    )
    .join(', ');
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
