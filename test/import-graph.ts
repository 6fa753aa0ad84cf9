/** Who imports whom, read from the sources: for the tests of boundaries. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
const FOLDERS = ['core', 'workflows', 'activities', 'suites', 'workers', 'infra', 'cli', 'test'];

export interface Import {
  /** File of ours relative to the root, or the name of a package or built-in module as written. */
  readonly to: string;
  readonly ours: boolean;
  /** `import type`, which leaves nothing behind when compiled. */
  readonly typeOnly: boolean;
  /** `import()`: loaded when it is reached, so it makes no cycle. */
  readonly dynamic: boolean;
}

export type ImportGraph = ReadonlyMap<string, readonly Import[]>;

const STATIC =
  /^[ \t]*(?:import|export)[ \t]+(type[ \t])?(?:[^'";]*?[ \t\n}]from[ \t\n]+)?['"]([^'"\n]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g;

export function readImportGraph(): ImportGraph {
  const files = FOLDERS.flatMap(sourcesUnder).concat(['temporal.config.ts']);
  return new Map(files.map((file) => [file, importsOf(file)]));
}

function sourcesUnder(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .map((file) => `${folder}/${file}`);
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found = [...text.matchAll(STATIC)].map((match) =>
    resolve(file, match[2]!, { typeOnly: match[1] !== undefined, dynamic: false }),
  );
  const dynamic = [...text.matchAll(DYNAMIC)].map((match) =>
    resolve(file, match[1]!, { typeOnly: false, dynamic: true }),
  );
  return [...found, ...dynamic];
}

function resolve(file: string, name: string, kind: Pick<Import, 'typeOnly' | 'dynamic'>): Import {
  if (!name.startsWith('.')) return { to: name, ours: false, ...kind };
  const target = relative(ROOT, join(ROOT, dirname(file), name));
  const source = target.replace(/\.js$/, '.ts');
  return { to: existsSync(join(ROOT, source)) ? source : target, ours: true, ...kind };
}

/** Every file and package that is loaded when `file` is: value imports, followed; dynamic ones too when asked. */
export function reached(
  graph: ImportGraph,
  file: string,
): { files: Set<string>; packages: Map<string, string> } {
  const files = new Set<string>();
  const packages = new Map<string, string>();
  const visit = (at: string): void => {
    if (files.has(at)) return;
    files.add(at);
    for (const item of graph.get(at) ?? []) {
      if (item.typeOnly) continue;
      if (item.ours) visit(item.to);
      else packages.set(item.to, at);
    }
  };
  visit(file);
  return { files, packages };
}

/** Cycles of static value imports, each as the path that closes. */
export function cycles(graph: ImportGraph): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      found.push([...path.slice(at), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const item of graph.get(file) ?? []) {
      if (item.ours && !item.typeOnly && !item.dynamic) visit(item.to, [...path, file]);
    }
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}
