/** The conformance suite against the PyTorch trainer on the CPU, whole and by LoRA. Skipped without PyTorch. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import { randomModel, torchPython } from './tiny-model.js';
import { startTorch } from './trainer.js';

const LIMIT_MS = 30 * 60_000;
const signal = new AbortController().signal;
const python = torchPython();

describe.skipIf(python === undefined)('the PyTorch trainer', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'torch-conformance-'));
    await randomModel(python!, path.join(folder, 'model'));
  }, LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each([
    ['trains every parameter', []],
    ['trains adapters, with gradient checkpointing', ['--lora-rank', '8', '--gradient-checkpointing']],
  ])(
    '%s and keeps every promise',
    async (_what, args) => {
      const trainer = await startTorch(python!, folder, args);
      try {
        const report = await runConformance({ url: trainer.url, signal, folder });
        expect(report.checks.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
        expect(report.checks.filter(({ outcome }) => outcome === 'skip').map(({ name }) => name)).toEqual([
          'clip-at-other-ratios',
        ]);
        expect(report.kind).toBe('torch');
      } finally {
        await trainer.stop();
      }
    },
    LIMIT_MS,
  );
});
