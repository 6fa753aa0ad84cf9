/**
 * An image for Python programs, made without a registry: this machine's interpreter with its standard library and the
 * libraries that both are loaded with, packages, and the programs. No shell, no installer, no tests.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type ImageArchive, imageArchive } from './archive.js';
import { librariesOf } from './libraries.js';
import type { TarEntry } from './tar.js';

const PYTHON = '/usr/local/bin/python3';
/** Of the standard library: what a server without a screen and a terminal has no use for. */
const STDLIB_LEFT_OUT =
  /^(?:test|tests|idlelib|tkinter|turtledemo|turtle\.py|ensurepip|lib2to3|pydoc_data|site-packages|dist-packages|config-.*|__pycache__)$/;
const DYNLOAD_LEFT_OUT = /^(?:_tkinter|_curses.*|readline|nis|_dbm|_gdbm|_test.*|_xxtestfuzz|xxlimited.*)\./;
/** Of packages: installers, tests, byte code of others, and what compilers and type checkers read. */
const PACKAGES_LEFT_OUT =
  /^(?:pip|setuptools|pkg_resources|_distutils_hack|wheel|pip-.*|setuptools-.*|wheel-.*|tests?|__pycache__|include)$/;
const FILES_LEFT_OUT = /\.(?:pyi|pyc|pth|c|h|pxd|pyx|a|exe)$/;
const INFO_KEPT = /^(?:METADATA|entry_points\.txt)$/;

export interface PythonImage {
  /** `name:tag`. */
  readonly tag: string;
  readonly python: {
    /** The interpreter itself, not a link or an environment's. */
    readonly executable: string;
    /** `3.11`. */
    readonly version: string;
    readonly stdlib: string;
    readonly packages: string;
    readonly packagesInside: string;
    /** Byte code of sources; what is loaded beside it is compiled by each process anew. */
    readonly modules: readonly { readonly source: string; readonly code: string }[];
  };
  readonly files: readonly { readonly path: string; readonly from: string }[];
  /** Arguments of the interpreter, before the container's own. */
  readonly entrypoint: readonly string[];
  readonly relay: readonly string[];
}

/** One file of this machine, and where it lies inside. */
interface Placed {
  readonly from: string;
  readonly path: string;
}

export async function pythonImage({
  tag,
  python,
  files,
  entrypoint,
  relay,
}: PythonImage): Promise<ImageArchive> {
  const { executable, version } = python;
  const stdlib = `/usr/local/lib/python${version}`;
  const placed: Placed[] = [
    { from: executable, path: PYTHON },
    ...(await standardLibrary(python.stdlib, stdlib)),
    ...(await packages(python.packages, python.packagesInside)),
    ...files,
  ];
  const own = new Set(placed.map(({ from }) => from));
  const binaries = placed.filter(({ from }) => from === executable || /\.so(?:\.|$)/.test(from));
  // Libraries that a package brings along lie beside it, inside as outside.
  const libraries = (await librariesOf(binaries.map(({ from }) => from))).filter(
    (path) => !own.has(path) && !path.startsWith(`${python.packages}/`),
  );
  placed.push(...libraries.map((path) => ({ from: path, path })), ...byteCode(python, placed));
  return imageArchive({
    tag,
    files: await Promise.all(placed.map(entry)),
    entrypoint: [PYTHON, ...entrypoint],
    labels: { 'steadfast.python': version, 'steadfast.relay': JSON.stringify([PYTHON, ...relay]) },
  });
}

async function standardLibrary(folder: string, inside: string): Promise<Placed[]> {
  const taken = await filesBelow(folder, inside, STDLIB_LEFT_OUT);
  return taken.filter(({ from }) => {
    const [first, name = ''] = relative(folder, from).split('/');
    if (first === 'lib-dynload') return name.endsWith('.so') && !DYNLOAD_LEFT_OUT.test(name);
    return from.endsWith('.py');
  });
}

async function packages(folder: string, inside: string): Promise<Placed[]> {
  const taken = await filesBelow(folder, inside, PACKAGES_LEFT_OUT);
  return taken.filter(({ from }) => {
    const [first = '', name = ''] = relative(folder, from).split('/');
    return first.endsWith('.dist-info') ? INFO_KEPT.test(name) : !FILES_LEFT_OUT.test(from);
  });
}

async function filesBelow(folder: string, inside: string, leftOut: RegExp): Promise<Placed[]> {
  const found: Placed[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (leftOut.test(entry.name)) continue;
    const [from, path] = [join(folder, entry.name), `${inside}/${entry.name}`];
    if (entry.isDirectory()) found.push(...(await filesBelow(from, path, leftOut)));
    else if (entry.isFile()) found.push({ from, path });
  }
  return found;
}

/** Where Python looks for it: beside the source. */
function byteCode({ version, modules }: PythonImage['python'], placed: readonly Placed[]): Placed[] {
  const inside = new Map(placed.map(({ from, path }) => [from, path]));
  const cached = `.cpython-${version.replace('.', '')}.pyc`;
  return modules.flatMap(({ source, code }) => {
    const path = inside.get(source);
    if (path === undefined) return [];
    return [{ from: code, path: path.replace(/([^/]+)\.py$/, `__pycache__/$1${cached}`) }];
  });
}

async function entry({ from, path }: Placed): Promise<TarEntry> {
  const runs = path === PYTHON || /\.so(?:\.|$)/.test(path);
  return { path: path.slice(1), mode: runs ? 0o755 : 0o644, content: await readFile(from) };
}
