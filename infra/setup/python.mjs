/** The Python side: an interpreter that is new enough, and a virtual environment with pinned, hash-checked packages. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { requireRoom, sizeMb } from './disk.mjs';
import { readJson, sha256, writeAtomic } from './files.mjs';
import { SetupProblem } from './problem.mjs';
import { toolFolders } from './root.mjs';
import { ask, isExecutable, onPath, run } from './run.mjs';

const LEAST = /** @type {const} */ ([3, 11]);
const CANDIDATES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.14', 'python'];
const REQUIREMENTS = 'native/trainer/requirements.txt';

const pythonOf = (/** @type {string} */ venv) => path.join(venv, 'bin', 'python');

/**
 * The interpreter with the packages of the requirements as they are now, or undefined: set-up has work to do.
 * @param {string} root @param {string} home @returns {{ file: string, version: string } | undefined}
 */
export function venvPython(root, home) {
  const wanted = sha256(readFileSync(path.join(root, REQUIREMENTS)));
  for (const folder of toolFolders(home)) {
    const venv = path.join(folder, 'venv');
    const stamp = readJson(path.join(venv, '.steadfast.json'));
    if (stamp?.requirements === wanted && isExecutable(pythonOf(venv)))
      return { file: pythonOf(venv), version: stamp.version };
  }
  return undefined;
}

/**
 * The first interpreter that is new enough: `PYTHON`, then the usual names. Throws `SetupProblem`.
 * @returns {{ file: string, version: string }}
 */
export function findPython() {
  const named = process.env.PYTHON;
  /** @type {string[]} */
  const seen = [];
  for (const name of named ? [named] : CANDIDATES) {
    const file = name.includes('/') ? name : onPath(name);
    if (!file) continue;
    const version = ask(file, ['-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3])']);
    if (version === undefined) continue;
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return { file, version };
    seen.push(`${name} ${version}`);
  }
  throw new SetupProblem(
    'Python',
    `Python ${LEAST.join('.')} or newer${named ? ' at PYTHON' : ' on PATH'}`,
    seen.length > 0 ? seen.join(', ') : (named ?? 'none'),
    'install it (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python), or set PYTHON to its path',
  );
}

/**
 * @param {string} root @param {string} home @param {(seconds: number) => void} onTick
 * @returns {import('./npm.mjs').Step}
 */
export function pythonPackages(root, home, onTick) {
  const name = 'Python packages';
  const venv = path.join(home, 'venv');
  const stampFile = path.join(venv, '.steadfast.json');
  const requirements = path.join(root, REQUIREMENTS);
  const wanted = sha256(readFileSync(requirements));
  const ready = venvPython(root, home);
  if (ready) return { name, ready: `Python ${ready.version}` };
  const python = findPython();
  return {
    name,
    ready: '',
    announce: `virtual environment with ${python.file} (${python.version}), about 100 MB`,
    work: async () => {
      requireRoom(home, 150, 'the Python packages');
      const pip = await makeVenv(python, venv, onTick);
      await run(pip.file, [...pip.args, '--require-hashes', '--only-binary', ':all:', '-r', requirements], {
        cwd: root,
        onTick,
      });
      writeAtomic(stampFile, JSON.stringify({ requirements: wanted, version: python.version }));
      return `${sizeMb(venv)} MB, Python ${python.version}`;
    },
  };
}

/**
 * How `pip install` is called for the environment, which is made unless it works already.
 * @param {{ file: string, version: string }} python @param {string} venv @param {(seconds: number) => void} onTick
 */
async function makeVenv(python, venv, onTick) {
  const inside = pythonOf(venv);
  const working = ask(inside, ['-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3])']);
  if (existsSync(venv) && working !== python.version) rmSync(venv, { recursive: true, force: true });
  const cwd = path.dirname(venv);
  if (working !== python.version) {
    if (ask(python.file, ['-c', 'import ensurepip']) !== undefined) {
      await run(python.file, ['-m', 'venv', venv], { cwd, onTick });
    } else if (ask(python.file, ['-m', 'pip', '--version']) !== undefined) {
      // Debian without python3-venv: the system's pip can install into an environment that has none.
      await run(python.file, ['-m', 'venv', '--without-pip', venv], { cwd, onTick });
    } else {
      throw noPip(python);
    }
  }
  return pipInstall(venv, python);
}

/**
 * @param {string} venv @param {{ file: string, version: string }} python
 * @returns {{ file: string, args: string[] }}
 */
export function pipInstall(venv, python) {
  const quiet = ['install', '--quiet', '--disable-pip-version-check', '--no-input'];
  const inside = pythonOf(venv);
  if (ask(inside, ['-m', 'pip', '--version']) !== undefined)
    return { file: inside, args: ['-m', 'pip', ...quiet] };
  if (ask(python.file, ['-m', 'pip', '--python', inside, '--version']) !== undefined)
    return { file: python.file, args: ['-m', 'pip', '--python', inside, ...quiet] };
  throw noPip(python);
}

/** @param {{ file: string, version: string }} python */
function noPip(python) {
  const minor = python.version.split('.').slice(0, 2).join('.');
  return new SetupProblem(
    python.file,
    'pip, or the module ensurepip that brings it',
    'neither',
    `Debian, Ubuntu: apt install python${minor}-venv; elsewhere: a Python from python.org, conda or Homebrew has it`,
  );
}
