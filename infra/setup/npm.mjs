/** The locked npm packages: installed with `npm ci` when they are missing or the lock file has changed. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { requireRoom, sizeMb } from './disk.mjs';
import { readJson, sha256, writeAtomic } from './files.mjs';
import { SetupProblem } from './problem.mjs';
import { onPath, run } from './run.mjs';

/** About what a fresh install takes, MiB. */
const SIZE_MB = 700;

/** @typedef {{ name: string, ready: string, work?: () => Promise<string>, announce?: string }} Step */

/**
 * @param {string} root @param {(seconds: number) => void} onTick
 * @returns {Step}
 */
export function npmPackages(root, onTick) {
  const name = 'npm packages';
  const lockFile = path.join(root, 'package-lock.json');
  const stampFile = path.join(root, 'node_modules', '.steadfast-lock');
  const wanted = sha256(readFileSync(lockFile), process.platform, process.arch);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted)
    return { name, ready: 'installed' };
  if (matchesLock(root)) {
    // Installed by hand with npm: as good as ours.
    writeAtomic(stampFile, wanted);
    return { name, ready: 'installed' };
  }
  return {
    name,
    ready: '',
    announce: `installing from the lock file, about ${SIZE_MB} MB on disk`,
    work: async () => {
      requireRoom(root, SIZE_MB, 'the npm packages');
      const { file, first } = npmCommand();
      const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
      await run(file, args, { cwd: root, onTick });
      writeAtomic(stampFile, wanted);
      return `${sizeMb(path.join(root, 'node_modules'))} MB`;
    },
  };
}

/** The npm that runs us (`npm run demo`), else the one on PATH. */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script && /npm-cli\.[cm]?js$/.test(script)) return { file: process.execPath, first: [script] };
  const file = onPath('npm');
  if (file) return { file, first: [] };
  throw new SetupProblem(
    'npm',
    'npm on PATH',
    'none',
    'install Node.js with npm (https://nodejs.org), or add it to PATH',
  );
}

/**
 * True when npm's own record of what it installed says the versions of the lock file.
 * @param {string} root
 */
function matchesLock(root) {
  const installed = readJson(path.join(root, 'node_modules', '.package-lock.json'))?.packages;
  const locked = readJson(path.join(root, 'package-lock.json'))?.packages;
  if (!installed || !locked) return false;
  return Object.entries(locked).every(([place, entry]) => {
    if (place === '' || entry.link) return true;
    const found = installed[place];
    // Packages for other platforms are optional and absent.
    return found
      ? found.version === entry.version
      : Boolean(entry.optional || entry.peer || entry.devOptional);
  });
}
