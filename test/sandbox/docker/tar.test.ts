/** Archives as the system's own tar reads them. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tar } from '../../../infra/images/tar.js';

test('paths of any length that the format can hold, and their content', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sf-tar-'));
  try {
    const deep = Array.from({ length: 12 }, (_, n) => `a-folder-of-some-length-${n}`).join('/');
    const paths = [
      'short.py',
      `${deep.slice(0, 95)}/x`,
      `${deep.slice(0, 150)}/${'n'.repeat(90)}.py`,
      'é/ü.py',
    ];
    const files = paths.map((path) => ({ path, mode: 0o644, content: Buffer.from(`in ${path}`) }));
    await writeFile(join(folder, 'all.tar'), tar([{ path: 'empty', mode: 0o755 }, ...files]));
    await promisify(execFile)('tar', ['-xf', 'all.tar'], { cwd: folder });
    for (const path of paths) expect(await readFile(join(folder, path), 'utf8')).toBe(`in ${path}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('one that it cannot hold is refused, not cut', () => {
  const file = (path: string) => () => tar([{ path, mode: 0o644, content: Buffer.alloc(0) }]);
  expect(file('x'.repeat(101))).toThrow(/at most 100 bytes/);
  expect(file(`${'f'.repeat(160)}/x`)).toThrow(/path in an image/);
});
