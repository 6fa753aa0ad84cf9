/** A base checkpoint whose digests hold and that still cannot be the trainer's: refused before anything is started. */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { requireBaseCheckpoint } from '../../infra/stack/base-checkpoint.js';

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'steadfast base '));
  cpSync(join(ROOT, 'native', 'trainer', 'base'), base, { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const config = (): string => join(base, 'config.json');
const weights = (): string => join(base, 'model.safetensors');

function change(entry: Record<string, unknown>): void {
  const known = JSON.parse(readFileSync(config(), 'utf8')) as Record<string, unknown>;
  writeFileSync(config(), JSON.stringify({ ...known, ...entry }));
}

/** As whoever made the base again would have left it. */
function sign(): void {
  const file = join(base, 'provenance.json');
  const provenance = JSON.parse(readFileSync(file, 'utf8')) as { files: Record<string, string> };
  for (const name of Object.keys(provenance.files)) {
    const bytes = readFileSync(join(base, name));
    provenance.files[name] = createHash('sha256').update(bytes).digest('hex');
  }
  writeFileSync(file, JSON.stringify(provenance));
}

it('is taken as it is shipped', () => {
  expect(requireBaseCheckpoint(base)).toBe(base);
});

it.each<[string, () => void, RegExp]>([
  ['another width', () => change({ width: 32 }), /width 32, .*found embed\.token with \d+ numbers, not \d+/],
  ['another depth', () => change({ layers: 3 }), /layers 3, .*found 2 layers/],
  ['another vocabulary', () => change({ vocab: 99 }), /vocab 99, .*found embed\.token/],
  ['weights cut off', () => truncateSync(weights(), 100_000), /lies outside the file/],
  [
    'weights that are something else',
    () => writeFileSync(weights(), 'hello, world'),
    /found safetensors: header of/,
  ],
  ['no weights at all', () => writeFileSync(weights(), ''), /0 bytes are no file/],
  ['a broken configuration', () => writeFileSync(config(), '{'), /config\.json: expected JSON with vocab/],
])('%s', (_what, spoil, words) => {
  spoil();
  sign();
  expect(() => requireBaseCheckpoint(base)).toThrow(UsageError);
  expect(() => requireBaseCheckpoint(base)).toThrow(words);
  expect(() => requireBaseCheckpoint(base)).toThrow(/make-base\.sh/);
});
