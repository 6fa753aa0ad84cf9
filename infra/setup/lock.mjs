/**
 * One holder at a time, between processes: a file that names its holder. A holder that was killed leaves a file
 * that the next one recognises as stale (no process with that id and start time) and takes over.
 */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isAlive, self } from './process.mjs';

/** Taking over a stale lock is a matter of microseconds; a guard file older than this was left by a kill. */
const GUARD_LIMIT_MS = 5_000;

/**
 * Waits for the lock, runs `work`, releases. `onWait` is called once, with the holder, when there is one.
 * @template T
 * @param {string} file @param {() => Promise<T>} work @param {(holder: number) => void} [onWait]
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait = () => {}) {
  mkdirSync(path.dirname(file), { recursive: true });
  for (let waited = false; !tryLock(file); waited = true) {
    const holder = readHolder(file);
    if (holder && !waited) onWait(holder.pid);
    await new Promise((done) => setTimeout(done, 150));
  }
  try {
    return await work();
  } finally {
    unlock(file);
  }
}

/**
 * True when this process now holds the lock.
 * @param {string} file
 */
export function tryLock(file) {
  if (create(file)) return true;
  const holder = readHolder(file);
  if (holder && isAlive(holder)) return false;
  takeAway(file);
  return create(file);
}

/**
 * Releases a lock that this process holds; otherwise does nothing.
 * @param {string} file
 */
export function unlock(file) {
  const holder = readHolder(file);
  const me = self();
  if (holder?.pid === me.pid && holder.started === me.started) rmSync(file, { force: true });
}

/** @param {string} file */
function create(file) {
  try {
    writeFileSync(file, JSON.stringify(self()), { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST') return false;
    // On a full disk the file was made, and stayed empty: nobody would hold it.
    if (code === 'ENOSPC' || code === 'EDQUOT') rmSync(file, { force: true });
    throw error;
  }
}

/**
 * Undefined when there is no lock, or its file was just made and is still empty.
 * @param {string} file @returns {import('./process.mjs').ProcessId | undefined}
 */
function readHolder(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return recent(file) ? self() : undefined;
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Removes a stale lock. A guard file makes sure that of two who saw the same stale lock only one removes it, and
 * none removes the other's new one.
 * @param {string} file
 */
function takeAway(file) {
  const guard = `${file}.guard`;
  if (!create(guard)) {
    if (!recent(guard)) rmSync(guard, { force: true });
    return;
  }
  try {
    const holder = readHolder(file);
    if (!holder || !isAlive(holder)) rmSync(file, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

/** @param {string} file */
function recent(file) {
  try {
    return Date.now() - statSync(file).mtimeMs < GUARD_LIMIT_MS;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return false;
    throw error;
  }
}
