/** Room and permission, asked for before anything is started. */
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asProblem, SetupProblem } from './problem.mjs';

/**
 * Throws `SetupProblem` unless the folder (made when absent) takes files and has `needMb` MiB free.
 * @param {string} folder @param {number} needMb @param {string} what e.g. "the npm packages"
 */
export function requireRoom(folder, needMb, what) {
  const probe = path.join(folder, `.probe-${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(probe, '');
    rmSync(probe);
    const { bavail, bsize } = statfsSync(folder);
    const freeMb = Math.floor((bavail * bsize) / 2 ** 20);
    if (freeMb < needMb) {
      throw new SetupProblem(
        folder,
        `${needMb} MiB free for ${what}`,
        `${freeMb} MiB`,
        'free some space, or set STEADFAST_HOME to a folder on another disk',
      );
    }
  } catch (error) {
    throw asProblem(error, folder);
  }
}

/**
 * Size of a folder in MiB, links not followed.
 * @param {string} folder
 */
export function sizeMb(folder) {
  let bytes = 0;
  for (const item of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (item.isFile()) bytes += statSync(path.join(item.parentPath, item.name)).size;
  }
  return Math.round(bytes / 2 ** 20);
}
