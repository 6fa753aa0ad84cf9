/** The trainer's own tests, in the language they are about. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { finished, python, TRAINER } from './server.js';

const modules = readdirSync(path.join(TRAINER, 'tests'))
  .filter((name) => /^test_.*\.py$/.test(name))
  .map((name) => name.replace(/\.py$/, ''));

test.each(modules)('%s', async (module) => {
  const child = spawn(python(), ['-m', 'unittest', `tests.${module}`], {
    cwd: TRAINER,
    env: { ...process.env, OPENBLAS_NUM_THREADS: '1' },
  });
  const { code, err } = await finished(child);
  expect(err).toMatch(/\nOK\s*$/);
  expect(code).toBe(0);
});
