/** Room and permission, asked for before anything is started. */
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { asProblem, SetupProblem } from './problem.mjs';

/**
 * Throws `SetupProblem` unless the folder (made when absent) takes files and has `needMb` MiB free.
 * @param {string} folder @param {number} needMb @param {string} what e.g. "the npm packages"
 */
export function requireRoom(folder, needMb, what) {
  const probe = path.join(folder, `.probe-${process.pid}`);
  try {
    makeFolder(folder);
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
    const refused = /** @type {NodeJS.ErrnoException} */ (error);
    // Our probe is nobody's file: what refuses it is the folder.
    if (refused.path === probe) refused.path = folder;
    throw asProblem(error, folder);
  }
}

/**
 * Like `mkdir -p`, with the true error: Node's recursive one calls a read-only file system "no such file".
 * @param {string} folder
 */
function makeFolder(folder) {
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  if (path.dirname(folder) !== folder) makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Somebody else has just made it; or a file of that name is in the way.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST' || !statSync(folder).isDirectory())
      throw error;
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
