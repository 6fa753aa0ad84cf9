/** What set-up says when it cannot go on: one message with place, expectation, finding and fix. Exit code 2. */

export class SetupProblem extends Error {
  /** @param {string} place @param {string} expected @param {string} found @param {string} fix */
  constructor(place, expected, found, fix) {
    super(`${place}: expected ${expected}, found ${found}\n  fix: ${fix}`);
    this.name = 'SetupProblem';
    this.parts = { place, expected, found, fix };
  }
}

/** @type {Record<string, [expected: string, found: string, fix: string]>} */
const FILE_SYSTEM = {
  ENOSPC: [
    'room on the disk',
    'a full disk',
    'free some space, or set STEADFAST_HOME to a folder on another disk',
  ],
  EDQUOT: ['room in the disk quota', 'a spent quota', 'free some space, or set STEADFAST_HOME elsewhere'],
  EROFS: ['a writable folder', 'a read-only file system', 'set STEADFAST_HOME to a writable folder'],
  EACCES: [
    'permission to write',
    'permission denied',
    'change its owner, or set STEADFAST_HOME to a folder of yours',
  ],
  EPERM: [
    'permission to write',
    'permission denied',
    'change its owner, or set STEADFAST_HOME to a folder of yours',
  ],
  EEXIST: ['a folder', 'a file in its place', 'move that file away'],
  ENOTDIR: ['a folder', 'a file in its place', 'move that file away'],
};

/**
 * A file-system error as a problem with its fix; anything else unchanged.
 * @param {unknown} error @param {string} place used when the error itself names no path
 */
export function asProblem(error, place) {
  if (!(error instanceof Error) || error instanceof SetupProblem) return error;
  const { code, path } = /** @type {NodeJS.ErrnoException} */ (error);
  const known = code ? FILE_SYSTEM[code] : undefined;
  return known ? new SetupProblem(path ?? place, ...known) : error;
}
