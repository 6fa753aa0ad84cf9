/** The Verl bridge: its own tests in Python, and the conformance suite against Verl's real engine on the CPU. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import { finished, python as plainPython } from '../trainer/server.js';
import { environment, NATIVE, startBridge, tinyModel, verlPython } from './bridge.js';

/** These need no Verl and no PyTorch, and run everywhere. */
const PLAIN = [
  'test_digests',
  'test_rows',
  'test_settings',
  'test_workers',
  'test_turns',
  'test_placement',
  'test_replica_sampler',
];
const WITH_VERL = ['test_data', 'test_losses', 'test_ranks'];
const LIMIT_MS = 60 * 60_000;

const python = verlPython();

describe('without Verl', () => {
  test.each(PLAIN)('%s', (module) => passes(plainPython(), module));
});

describe.skipIf(python === undefined)('with Verl on the CPU', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-bridge-'));
    await tinyModel(python!, path.join(folder, 'model'), 1);
  }, LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(WITH_VERL)('%s', (module) => passes(python!, module), LIMIT_MS);

  test(
    'one rank keeps every promise of the contract',
    async () => {
      const bridge = await startBridge(python!, folder, ['--ranks', 'local']);
      try {
        const signal = new AbortController().signal;
        const limits = { waitMs: 10 * 60_000, checkMs: 30 * 60_000 };
        const report = await runConformance({ url: bridge.url, signal, folder, ...limits });
        expect(report.checks.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
        expect(report.checks.filter(({ outcome }) => outcome === 'skip').map(({ name }) => name)).toEqual([
          'clip-at-other-ratios',
        ]);
        expect(report.kind).toBe('verl');
      } finally {
        await bridge.stop();
      }
    },
    LIMIT_MS,
  );
});

async function passes(file: string, module: string): Promise<void> {
  const child = spawn(file, ['-m', 'unittest', `tests.${module}`], { cwd: NATIVE, env: environment() });
  const { code, err } = await finished(child);
  expect(err).toMatch(/\nOK\s*$/);
  expect(code).toBe(0);
}
