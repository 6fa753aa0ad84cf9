/** What is wrong is known before anything is started: `UsageError`, and no process. */
import { cpSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { requireBaseCheckpoint } from '../../infra/stack/base-checkpoint.js';
import { startStack } from '../../infra/stack/start.js';
import { discard, processesOf, temporaryHome } from './harness.js';

let home = '';
let base = '';
beforeAll(() => {
  home = temporaryHome();
  base = join(home, 'base');
  cpSync(join(ROOT, 'native', 'trainer', 'base'), base, { recursive: true });
});
afterAll(() => discard(home));

it('a base checkpoint that is whole, truncated, missing, and without provenance', () => {
  expect(requireBaseCheckpoint(base)).toBe(base);
  const model = join(base, 'model.safetensors');
  truncateSync(model, 100_000);
  expect(() => requireBaseCheckpoint(base)).toThrow(
    /model\.safetensors: expected SHA-256 .*\(100000 bytes\)/,
  );
  rmSync(model);
  expect(() => requireBaseCheckpoint(base)).toThrow(/model\.safetensors: expected a file, found none/);
  writeFileSync(join(base, 'provenance.json'), '{}');
  expect(() => requireBaseCheckpoint(base)).toThrow(/provenance\.json/);
});

it('a database that does not answer', async () => {
  process.env.DATABASE_URL = 'postgresql://somebody:secret@127.0.0.1:1/nothing';
  try {
    const started = startStack({ home, services: ['postgres'] });
    await expect(started).rejects.toThrow(UsageError);
    await expect(started).rejects.toThrow(/DATABASE_URL: expected a PostgreSQL database that answers/);
    await expect(started).rejects.not.toThrow(/secret/);
  } finally {
    delete process.env.DATABASE_URL;
  }
  expect(processesOf(home)).toEqual([]);
});

it('workers without what they need', async () => {
  await expect(startStack({ home, services: ['temporal'], workers: { gpu: 1 } })).rejects.toThrow(
    /workers: expected all of/,
  );
});

it('a home that cannot be one', async () => {
  const file = join(home, 'file');
  mkdirSync(home, { recursive: true });
  writeFileSync(file, '');
  await expect(startStack({ home: file, services: ['temporal'] })).rejects.toThrow(
    /expected a folder, found a file/,
  );
});
