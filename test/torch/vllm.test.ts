/**
 * The PyTorch trainer with a real vLLM that samples for it: whole models and adapters, handed over while it runs. Skipped
 * without both (native/torch/make-venv.sh, native/vllm/make-venv.sh).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import { serveForTraining, type VllmServer, vllmPython } from '../vllm/engine.js';
import { randomModel, torchPython } from './tiny-model.js';
import { startTorch } from './trainer.js';

const LIMIT_MS = 30 * 60_000;
const signal = new AbortController().signal;
const python = torchPython();
const vllm = vllmPython();

/** Everything that has to do with sampling, and what changes weights while they are sampled from. */
const CHECKS = [
  ...['update-once', 'serve-apart', 're-apply', 'mismatch', 'publish', 'version-echoed'],
  ...['probe-finds-stale', 'samples-are-of-their-weights'],
];

describe.skipIf(python === undefined || vllm === undefined)('the PyTorch trainer with vLLM', () => {
  let folder = '';
  let server: VllmServer;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'torch-vllm-'));
    // vLLM 0.32 on the CPU keeps a tied head as it was when it loads other weights in place.
    await randomModel(python!, path.join(folder, 'model'), 'own');
    server = await serveForTraining(vllm!, path.join(folder, 'model'));
  }, LIMIT_MS);
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  // Adapters first: whole models leave other weights in the server.
  test.each([
    ['adapters', ['--lora-rank', '8']],
    ['whole models', []],
  ])(
    '%s: what is sampled comes from the weights that it names',
    async (_what, args) => {
      const url = server.url.replace(/\/v1$/, '');
      const trainer = await startTorch(python!, folder, ['--context', '2048', '--vllm', url, ...args]);
      try {
        const report = await runConformance({ url: trainer.url, signal, folder, only: CHECKS });
        expect(report.checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([]);
      } finally {
        await trainer.stop();
      }
    },
    LIMIT_MS,
  );
});
