/**
 * Three steps of GRPO on deskbench with a tiny Qwen 3 in PyTorch, through the whole pipeline: once undisturbed, and once
 * with the trainer and the sandbox worker killed in step 2. Both end with the same bytes. Skipped without PyTorch.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trainConfig } from '../../cli/run/resolve.js';
import { readState } from '../../infra/stack/info.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { killHard } from '../setup/harness.js';
import { type Grpo, say, taughtTasks, trained, whileSampling } from './grpo.js';
import { taughtModel, torchPython } from './tiny-model.js';

const LIMIT_MS = 20 * 60_000;

const python = torchPython();

describe.skipIf(python === undefined)('GRPO with the PyTorch trainer', () => {
  let folder = '';
  let grpo: Grpo;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'torch-grpo-'));
    const model = path.join(folder, 'model');
    const pool = await taughtTasks();
    say(`taught: ${await taughtModel(python!, model, pool)}`);
    const file = {
      seed: 11,
      trainer: { kind: 'torch', model, dtype: 'float32', gradientCheckpointing: false },
      limits: { tokensPerCall: 64, tokensPerEpisode: 256 },
      train: {
        steps: 3,
        saveEvery: 3,
        plan: { learningRate: 1e-4 },
        shape: { groups: 4, groupSize: 4, maxGroups: 8, maxRefillRounds: 1, minInformative: 1 },
      },
    } as const;
    grpo = {
      config: await trainConfig(file, createDeskbench(), pool),
      variables: {
        STEADFAST_TRAINER: 'torch',
        STEADFAST_TRAINER_MODEL: model,
        STEADFAST_TORCH_PYTHON: python!,
      },
      limitMs: LIMIT_MS,
    };
  }, LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it(
    'a run that is killed in the middle ends with the bytes of one that was left alone',
    async () => {
      const undisturbed = await trained('torch', grpo);
      let killed = 0;
      const disturbed = await trained('torch', grpo, async (ledger, home) => {
        await whileSampling(ledger, 'train/torch', 2, LIMIT_MS);
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
});
