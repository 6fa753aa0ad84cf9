/** The PyTorch trainer's own tests, in the language they are about. Skipped without PyTorch. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { finished, python as plainPython } from '../trainer/server.js';
import { NATIVE, PYTHONPATH, torchPython } from './tiny-model.js';

/** These need no PyTorch, and run everywhere. */
const PLAIN = ['test_versions', 'test_vllm_server'];

const modules = readdirSync(path.join(NATIVE, 'tests'))
  .filter((name) => /^test_.*\.py$/.test(name))
  .map((name) => name.replace(/\.py$/, ''));
const python = torchPython();

describe.skipIf(python === undefined)('with PyTorch', () => {
  test.each(modules.filter((name) => !PLAIN.includes(name)))(
    '%s',
    (module) => passes(python!, module),
    300_000,
  );
});

describe('without PyTorch', () => {
  test.each(PLAIN)('%s', (module) => passes(plainPython(), module));
});

async function passes(file: string, module: string): Promise<void> {
  const child = spawn(file, ['-m', 'unittest', `tests.${module}`], {
    cwd: NATIVE,
    env: { ...process.env, PYTHONPATH, OPENBLAS_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' },
  });
  const { code, err } = await finished(child);
  expect(err).toMatch(/\nOK\s*$/);
  expect(code).toBe(0);
}
