/** The conformance suite against the PyTorch trainer on the CPU, whole and by LoRA. Skipped without PyTorch. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import { NATIVE, PYTHONPATH, randomModel, torchPython } from './tiny-model.js';

const LIMIT_MS = 20 * 60_000;
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
      const trainer = await start(args);
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

  async function start(args: readonly string[]) {
    const child = spawn(
      python!,
      [
        ...['-m', 'steadfast_torch', 'serve', '--port', '0', '--home', path.join(folder, 'home')],
        ...['--model', path.join(folder, 'model'), ...args],
      ],
      { cwd: NATIVE, env: { ...process.env, PYTHONPATH }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = once(child, 'exit');
    const line = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
      ended.then(([code]) => Promise.reject(new Error(`the trainer ended with ${code}`))),
    ]);
    const stop = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    return { url: line.slice(line.indexOf('http')), stop };
  }
});
