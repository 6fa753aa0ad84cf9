/** The build: what is changed is written, what is gone is removed, and nothing else is touched. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { build } from '../../infra/setup/build.mjs';
import { ROOT } from '../../infra/setup/root.mjs';

const root = mkdtempSync(join(tmpdir(), 'steadfast build '));
const put = (file: string, text: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};
const WORKFLOW =
  "import { one } from '../core/one.js';\nexport async function first(): Promise<number> { return one; }\n";

beforeAll(() => {
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  put('package.json', '{"type":"module"}');
  put('core/one.ts', "import type { Two } from './two.js';\nexport const one: Two = 1;\n");
  put('core/two.ts', 'export type Two = number;\n');
  put('core/table.sql', 'SELECT 1;\n');
  put('workflows/index.ts', WORKFLOW);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('transpiles file by file, copies assets, bundles workflows', async () => {
  expect(await build({ root })).toEqual({ written: 4, removed: 0, bundled: true });
  const code = readFileSync(join(root, 'dist/core/one.js'), 'utf8');
  expect(code).toContain('const one = 1');
  expect(code).not.toContain('import');
  expect(existsSync(join(root, 'dist/core/table.sql'))).toBe(true);
  expect(readFileSync(join(root, 'dist/workflow-bundle.js'), 'utf8')).toContain('first');
});

it('does nothing when nothing changed, not even after a touch', async () => {
  put('core/two.ts', 'export type Two = number;\n');
  const before = statSync(join(root, 'dist/core/two.js')).mtimeMs;
  expect(await build({ root })).toEqual({ written: 0, removed: 0, bundled: false });
  expect(statSync(join(root, 'dist/core/two.js')).mtimeMs).toBe(before);
});

it('bundles for other versions of what workflows import, not for other bytes of the lock', async () => {
  const lock = (versions: Record<string, string>) =>
    put('package-lock.json', JSON.stringify({ packages: { 'node_modules/@temporalio/worker': versions } }));
  lock({ version: '2' });
  expect(await build({ root })).toEqual({ written: 0, removed: 0, bundled: true });
  lock({ version: '2', license: 'MIT' });
  expect(await build({ root })).toEqual({ written: 0, removed: 0, bundled: false });
  rmSync(join(root, 'package-lock.json'));
  expect(await build({ root })).toEqual({ written: 0, removed: 0, bundled: true });
});

it('bundles again only for what workflows reach', async () => {
  put('core/table.sql', 'SELECT 2;\n');
  expect(await build({ root })).toEqual({ written: 1, removed: 0, bundled: false });
  put('core/one.ts', 'export const one = 2;\n');
  expect(await build({ root })).toEqual({ written: 1, removed: 0, bundled: true });
});

it('removes what has no source any more, and replaces what was removed', async () => {
  rmSync(join(root, 'core/two.ts'));
  rmSync(join(root, 'dist/core/table.sql'));
  expect(await build({ root })).toEqual({ written: 1, removed: 2, bundled: false });
  expect(existsSync(join(root, 'dist/core/two.js'))).toBe(false);
  expect(existsSync(join(root, 'dist/core/two.js.map'))).toBe(false);
});

it('names file and place of what does not compile, and says so again', async () => {
  put('core/one.ts', 'export const one = ;\n');
  await expect(build({ root })).rejects.toThrow(/core\/one\.ts:1:19/);
  await expect(build({ root })).rejects.toThrow(/core\/one\.ts:1:19/);
});

it('refuses a workflow that reaches for a module of Node', async () => {
  put('core/one.ts', "import { hostname } from 'node:os';\nexport const one = hostname().length;\n");
  await expect(build({ root })).rejects.toThrow(/node:os/);
});
