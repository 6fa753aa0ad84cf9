/** The Python that runs the servers and checks of a checkout: a virtual environment with pinned packages. */

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../../core/faults.js';
import { withLock } from './lock.js';
import { nativeFile } from './native.js';

const run = promisify(execFile);
const REQUIREMENTS = nativeFile('requirements.txt');
const MARKER = 'steadfast-requirements.sha256';
const OLDEST = '3.11';
/** Modules without which no server or check runs. */
const NEEDED = 'fastmcp mcp yaml typesense odata_query';

/** `<home>/venv-thinkingbox`, where `home` is the state folder of this machine. */
export function environmentDir(home: string): string {
  return join(home, 'venv-thinkingbox');
}

/** SHA-256 of the pinned requirements, as hex; part of the suite's digest. */
export async function requirementsDigest(): Promise<string> {
  return createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex');
}

/**
 * Makes the virtual environment, or finds it ready (then it costs nothing); packages are checked by hash.
 * Returns the path of its interpreter. `report` gets one line at each step; about 140 MB and 15 s the first time.
 * Throws `UsageError` when there is no Python ≥ 3.11 or pip fails, with pip's last words.
 */
export async function prepareThinkingBox(options: {
  readonly home: string;
  /** Interpreter that makes the environment; `python3` by default. */
  readonly basePython?: string;
  readonly report?: (line: string) => void;
}): Promise<string> {
  const { home, basePython = 'python3', report = () => undefined } = options;
  const venv = environmentDir(home);
  const python = join(venv, 'bin', 'python');
  const wanted = await requirementsDigest();
  const ready = async (): Promise<boolean> => (await read(join(venv, MARKER))) === wanted;
  if (await ready()) return python;
  await checkVersion(basePython);
  await mkdir(home, { recursive: true });
  // Several workers open the suite at once: one makes the environment, the others wait for it.
  await withLock(`${venv}.lock`, async () => {
    if (!(await ready())) await make(basePython, venv, wanted, report);
  });
  return python;
}

async function make(
  basePython: string,
  venv: string,
  wanted: string,
  report: (line: string) => void,
): Promise<void> {
  const python = join(venv, 'bin', 'python');
  report(`making the Python environment of ThinkingBox in ${venv} (about 140 MB)`);
  await rm(venv, { recursive: true, force: true });
  await program(basePython, ['-m', 'venv', venv], 'python -m venv');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
  await program(
    python,
    [...pip, '--require-hashes', '-r', REQUIREMENTS],
    'pip install of native/thinkingbox/requirements.txt',
  );
  // Written last: an environment that was interrupted on the way is made again.
  await writeFile(join(venv, MARKER), wanted);
  report('the Python environment of ThinkingBox is ready');
}

/** True for the interpreter of an environment that `prepareThinkingBox` made. */
export async function isPinnedEnvironment(python: string): Promise<boolean> {
  return (await read(join(dirname(dirname(python)), MARKER))) === (await requirementsDigest());
}

/** Throws `UsageError` when `python` is not an interpreter with the packages that the checkout needs. */
export async function checkPython(python: string): Promise<void> {
  // Found, not imported: importing them takes most of a second.
  const code = `import importlib.util as u; print(" ".join(m for m in "${NEEDED}".split() if not u.find_spec(m)))`;
  let found: string;
  try {
    const { stdout } = await run(python, ['-c', code]);
    if (stdout.trim() === '') return;
    found = `none of: ${stdout.trim()}`;
  } catch (error) {
    found = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
  }
  throw new UsageError(
    'python of the suite thinkingbox',
    `an interpreter with the packages of native/thinkingbox/requirements.txt at ${python}`,
    found,
    'Leave THINKINGBOX_PYTHON unset and one is made',
  );
}

/**
 * Environment of programs of a checkout: nothing of ours passes on. Byte code goes beside the interpreter, so that
 * checkouts stay untouched and may be read-only.
 */
export function pythonEnvironment(
  python: string,
  dirs: { readonly thinkingboxDir: string; readonly dataDir: string },
) {
  const servers = join(dirs.dataDir, 'servers');
  const packages = folders(servers).map((name) => join(servers, name));
  return {
    PATH: `${dirname(python)}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    // Packages of servers and fixtures, and modules that lie beside them.
    PYTHONPATH: [dirs.thinkingboxDir, ...packages, servers].join(':'),
    PYTHONPYCACHEPREFIX: join(dirname(dirname(python)), 'pycache'),
    PYTHONUNBUFFERED: '1',
    THINKINGBOX_DATA: dirs.dataDir,
    FASTMCP_LOG_LEVEL: 'WARNING',
    FASTMCP_CHECK_FOR_UPDATES: 'off',
  };
}

function folders(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  const entries = readdirSync(dir, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('__'))
    .map(({ name }) => name)
    .toSorted();
}

async function checkVersion(python: string): Promise<void> {
  const fix = `Install Python ${OLDEST} or newer with its venv module, or name one`;
  let version: string;
  try {
    const { stdout } = await run(python, [
      '-c',
      'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])',
    ]);
    version = stdout.trim();
  } catch (error) {
    const found = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
    throw new UsageError(python, `Python ${OLDEST} or newer`, found, fix);
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major !== 3 || minor < 11)
    throw new UsageError(python, `Python ${OLDEST} or newer`, `Python ${version}`, fix);
}

function program(file: string, args: readonly string[], what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let words = '';
    child.stderr.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString('utf8')).slice(-2_000);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new UsageError(what, 'success', `exit ${code}: ${words.trim()}`));
    });
  });
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined; // not made yet, or half-made: it is made now
  }
}
