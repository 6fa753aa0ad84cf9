/**
 * The Verl bridge with a real vLLM that samples for it: weights are gathered from the ranks and handed over while it runs.
 * Skipped without both (native/verl/make-venv.sh, native/vllm/make-venv.sh).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serveForTraining, type VllmServer, vllmPython } from '../vllm/engine.js';
import { notHeld, SAMPLING_CHECKS, startBridge, tinyModel, verlPython } from './bridge.js';

const LIMIT_MS = 60 * 60_000;
const python = verlPython();
const vllm = vllmPython();

describe.skipIf(python === undefined || vllm === undefined)('the Verl bridge with vLLM', () => {
  let folder = '';
  let server: VllmServer;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-vllm-'));
    await tinyModel(python!, path.join(folder, 'model'), 1);
    server = await serveForTraining(vllm!, path.join(folder, 'model'));
  }, LIMIT_MS);
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    'what is sampled comes from the weights that it names',
    async () => {
      const url = server.url.replace(/\/v1$/, '');
      const bridge = await startBridge(python!, folder, ['--ranks', 'local', '--vllm', url]);
      try {
        expect(await notHeld(bridge.url, folder, SAMPLING_CHECKS)).toEqual([]);
      } finally {
        await bridge.stop();
      }
    },
    LIMIT_MS,
  );
});
