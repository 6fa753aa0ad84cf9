/** Files written so that a reader sees the old bytes or the new ones, and digests of files read cheaply. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

let serial = 0;

/**
 * Writes through a temporary file beside the target. Folders are made. Throws the plain file-system error.
 * @param {string} file @param {string | Uint8Array} bytes @param {number} [mode]
 */
export function writeAtomic(file, bytes, mode = 0o644) {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}-${serial++}.tmp`;
  try {
    writeFileSync(temporary, bytes, { mode });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Parsed JSON, or undefined when the file is missing or was cut off.
 * @param {string} file @returns {any}
 */
export function readJson(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch {
    // A stamp that cannot be read is a stamp that is not there: the work is done again.
    return undefined;
  }
}

/** @param {(string | Uint8Array)[]} parts @returns {string} SHA-256, hex, over the parts and their lengths. */
export function sha256(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex');
}
