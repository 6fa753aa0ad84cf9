/** Errors of the file system as `Fault('artifacts')`, naming the path and what a person can do. */
import { Fault } from '../../core/faults.js';

const WORDS: Readonly<Record<string, readonly [code: string, words: string, retry: boolean]>> = {
  ENOENT: ['missing', 'it is not there', false],
  ENOSPC: ['disk_full', 'the disk is full', true],
  EDQUOT: ['disk_full', 'the disk quota is used up', true],
  EROFS: ['read_only', 'the file system is mounted read-only', false],
  EACCES: ['denied', 'permission denied', false],
  EPERM: ['denied', 'the operation is not permitted', false],
  ENOTDIR: ['not_a_folder', 'a file stands where a folder is needed', false],
  EMFILE: ['busy', 'too many files are open', true],
  EIO: ['broken', 'the disk reports an error', true],
};

/** The folder was removed while we wrote; the next try makes it again. */
const FOLDER_GONE = ['folder_gone', 'its folder has disappeared', true] as const;

/** A `Fault` passes through unchanged. */
export function artifactFault(error: unknown, what: 'read' | 'write', path: string, digest?: string): Fault {
  if (error instanceof Fault) return error;
  const { code: system = '', message } = error as { code?: string; message?: string };
  const known = what === 'write' && system === 'ENOENT' ? FOLDER_GONE : WORDS[system];
  const [code, words, retry] = known ?? ['failed', message ?? String(error), true];
  const name = digest === undefined ? 'artifact' : `artifact ${digest}`;
  return new Fault('artifacts', `cannot ${what} ${name}: ${words} (${system || 'no code'}): ${path}`, {
    cause: error,
    code,
    retry,
  });
}

export function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === 'ENOENT';
}
