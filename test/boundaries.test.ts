/** The import boundaries of the design (section 2), and what the workflow sandbox may hold. */
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cycles, ROOT, reached, readImportGraph } from './import-graph.js';

const CONFIG = 'temporal.config.ts';

/** Folder → folders of ours that it may import. A folder may always import itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  workflows: ['core', CONFIG],
  activities: ['core', CONFIG],
  suites: ['core'],
  // Plain constants: the stack sets retention and namespace from the same place that workflows read.
  infra: ['core', CONFIG],
  workers: ['core', 'workflows', 'activities', 'suites', 'infra', CONFIG],
  cli: ['core', 'workflows', 'activities', 'suites', 'infra', 'workers', CONFIG],
  test: ['core', 'workflows', 'activities', 'suites', 'infra', 'workers', 'cli', CONFIG],
  [CONFIG]: [],
};
/** Folder → folders of which it may import types only. */
const MAY_IMPORT_TYPES: Readonly<Record<string, readonly string[]>> = { workflows: ['activities'] };

/** What may be in the sandbox beside our own code. */
const SANDBOX_PACKAGES = new Set(['@temporalio/workflow', '@temporalio/common']);
/** With what those bring along. Temporal's bundler itself refuses Node's built-in modules. */
const BUNDLED_PACKAGES = new Set([...SANDBOX_PACKAGES, 'nexus-rpc', 'long', 'ms']);
/** Bytes of code, without the source map; Temporal's own part is about 480 kB. Each pipeline worker loads it. */
const BUNDLE_LIMIT = 800_000;

const graph = readImportGraph();
const folderOf = (file: string): string => file.split('/')[0] as string;

describe('import boundaries', () => {
  it('the sources are read: every folder has files and imports', () => {
    const seen = new Set(
      [...graph].filter(([, imports]) => imports.length > 0).map(([file]) => folderOf(file)),
    );
    expect(Object.keys(MAY_IMPORT).filter((folder) => folder !== CONFIG && !seen.has(folder))).toEqual([]);
  });

  it('folders import only what the design lets them', () => {
    const wrong = [...graph].flatMap(([file, imports]) => {
      const from = folderOf(file);
      const allowed = new Set([from, ...(MAY_IMPORT[from] ?? [])]);
      const types = new Set(MAY_IMPORT_TYPES[from] ?? []);
      return imports
        .filter(({ ours }) => ours)
        .filter(({ to, typeOnly }) => !allowed.has(folderOf(to)) && !(typeOnly && types.has(folderOf(to))))
        .map(({ to }) => `${file} → ${to}`);
    });
    expect(wrong).toEqual([]);
  });

  it('core reaches no package that does I/O', () => {
    const wrong = [...graph]
      .filter(([file]) => folderOf(file) === 'core')
      .flatMap(([file, imports]) =>
        imports
          .filter(({ ours, to }) => !ours && isBuiltin(to) && to !== 'node:crypto')
          .map(({ to }) => `${file} → ${to}`),
      );
    expect(wrong).toEqual([]);
  });

  it('there are no import cycles', () => {
    expect(cycles(graph)).toEqual([]);
  });
});

describe.runIf(graph.has('workflows/index.ts'))('the workflow sandbox', () => {
  it('workflows reach only sandbox-safe packages', () => {
    const { packages } = reached(graph, 'workflows/index.ts');
    const wrong = [...packages]
      .filter(([name]) => !SANDBOX_PACKAGES.has(name))
      .map(([name, by]) => `${by} → ${name}`);
    expect(wrong).toEqual([]);
  });

  it('the bundle holds no other package and keeps its size', () => {
    const bundle = readFileSync(join(ROOT, 'dist', 'workflow-bundle.js'), 'utf8');
    const code = bundle.slice(0, bundle.lastIndexOf('//# sourceMappingURL'));
    const packages = [...code.matchAll(/node_modules\/((?:@[^/"]+\/)?[^/"]+)\//g)].map((match) => match[1]!);
    expect(packages.length).toBeGreaterThan(0);
    expect([...new Set(packages)].filter((name) => !BUNDLED_PACKAGES.has(name))).toEqual([]);
    expect(code.length).toBeLessThan(BUNDLE_LIMIT);
  });
});

function isBuiltin(name: string): boolean {
  return name.startsWith('node:') || builtinModules.includes(name);
}
