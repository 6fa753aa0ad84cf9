/**
 * Logs of the stack's processes. A process writes to its file itself (a pipe would break when the supervisor is
 * killed), always at the end; so a file that has grown too long is copied aside and cut while its writer goes on.
 */
import {
  closeSync,
  copyFileSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A log may hold this much before it moves to `<name>.log.1`, which is replaced. Bytes. */
const LIMIT = 16 * 1024 * 1024;

/** File descriptor to append to; the caller closes it. */
export function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  if (sizeOf(file) > LIMIT) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

/** Cuts the file when it is over the limit. */
export function boundLog(file: string): void {
  if (sizeOf(file) <= LIMIT) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file, 0);
}

export function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** The last lines written after byte `from`; empty when there is nothing. */
export function tail(file: string, from = 0, lines = 12): string {
  if (sizeOf(file) <= from) return '';
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const length = Math.min(size - from, 16_384);
    const buffer = Buffer.alloc(length);
    readSync(descriptor, buffer, 0, length, size - length);
    return buffer.toString('utf8').trim().split('\n').slice(-lines).join('\n');
  } finally {
    closeSync(descriptor);
  }
}
