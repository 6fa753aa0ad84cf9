/**
 * A start-up snapshot: the heap of `node` after a program has loaded, which a new process takes over in place of loading
 * it again. That is half of what a small server costs, and it is paid for every episode.
 *
 * A program that can be loaded so says what is to be done in every process (`v8.startupSnapshot`). Two snapshots of one
 * program are not the same bytes, so one is kept for it and for the `node` that it belongs to: the image made again on
 * this machine is the same image.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256, writeAtomic } from '../setup/files.mjs';

const BUILD_MS = 60_000;

/** `program`: CommonJS; `node`: the bytes of this process's `node`; `kept`: folder for snapshots that were made. */
export async function startupSnapshot(program: Buffer, node: Buffer, kept: string): Promise<Buffer> {
  const file = join(kept, `${sha256(program, node)}.blob`);
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const blob = await made(program);
  writeAtomic(file, blob);
  return blob;
}

/** Throws with what `node` said when the program cannot be loaded so. */
async function made(program: Buffer): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'sf-snapshot-'));
  try {
    const [source, blob] = [join(folder, 'server.cjs'), join(folder, 'server.blob')];
    await writeFile(source, program);
    const args = ['--snapshot-blob', blob, '--build-snapshot', source];
    // Nothing of our environment may lie in what goes into an image.
    await promisify(execFile)(process.execPath, args, { cwd: folder, env: {}, timeout: BUILD_MS });
    return await readFile(blob);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
