/**
 * Artifacts in a local folder: `<dir>/<first two hex digits>/<the other 62>`.
 *
 * A file is written under `<dir>/tmp`, synced, renamed to its place, and the folder that holds it is synced: after
 * `put` a power cut loses nothing, and at no moment is there half a file under a digest.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import { artifactFault, isMissing } from './errors.js';

const DIGEST = /^sha256:([0-9a-f]{2})([0-9a-f]{62})$/;
/** A temporary file that is older was left by a process that died while it wrote. */
const ABANDONED_MS = 60 * 60_000;

export function digestOf(bytes: Uint8Array): Digest {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Makes the folder at the first `put`. Several processes may use one folder at once. */
export function createLocalArtifacts(dir: string): ArtifactStore {
  const root = resolve(dir);
  const temporary = join(root, 'tmp');
  /** Folders that are known to be there, and on disk. */
  const ready = new Map<string, Promise<void>>();
  /** Writes in flight, so that the same bytes at the same time are one write. */
  const writing = new Map<Digest, Promise<void>>();

  function pathOf(digest: Digest): string {
    const [, shard, name] = DIGEST.exec(digest) ?? [];
    if (shard && name) return join(root, shard, name);
    throw new Fault('artifacts', `artifact: expected "sha256:" and 64 hex digits, found "${digest}"`, {
      code: 'bad_digest',
      retry: false,
    });
  }

  function folder(path: string): Promise<void> {
    const known = ready.get(path);
    if (known) return known;
    const made = makeFolder(path).then(() => (path === temporary ? removeAbandoned(temporary) : undefined));
    ready.set(path, made);
    made.catch(() => ready.delete(path));
    return made;
  }

  async function write(path: string, bytes: Uint8Array): Promise<void> {
    if (await holds(path, bytes)) {
      // Perhaps another process has renamed it a moment ago and not synced yet.
      await syncFolder(dirname(path));
      return;
    }
    await Promise.all([folder(temporary), folder(dirname(path))]);
    const draft = join(temporary, `${process.pid}-${randomBytes(8).toString('hex')}`);
    try {
      await writeSynced(draft, bytes);
      await rename(draft, path);
    } catch (error) {
      // Perhaps somebody has removed the folders under us: look again at the next try.
      ready.clear();
      await removeDraft(draft);
      throw error;
    }
    await syncFolder(dirname(path));
  }

  return {
    async put(bytes) {
      const digest = digestOf(bytes);
      const path = pathOf(digest);
      const running = writing.get(digest) ?? write(path, bytes).finally(() => writing.delete(digest));
      writing.set(digest, running);
      try {
        await running;
      } catch (error) {
        throw artifactFault(error, 'write', path);
      }
      return digest;
    },

    async get(digest) {
      const path = pathOf(digest);
      let bytes: Uint8Array;
      try {
        bytes = await readFile(path);
      } catch (error) {
        throw artifactFault(error, 'read', path, digest);
      }
      const found = digestOf(bytes);
      if (found === digest) return bytes;
      throw new Fault(
        'artifacts',
        `artifact ${digest} is corrupt: ${path} holds ${bytes.length} bytes of ${found}`,
        {
          code: 'corrupt',
          retry: false,
        },
      );
    },

    async has(digest) {
      const path = pathOf(digest);
      try {
        await access(path);
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw artifactFault(error, 'read', path, digest);
      }
    },

    path: pathOf,

    async verify(digest) {
      const path = pathOf(digest);
      try {
        return (await hashFile(path)) === digest ? 'ok' : 'corrupt';
      } catch (error) {
        if (isMissing(error)) return 'missing';
        throw artifactFault(error, 'read', path, digest);
      }
    },
  };
}

/** True when the file is there with exactly these bytes; a damaged one is written again. */
async function holds(path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const { size } = await stat(path);
    return size === bytes.length && (await readFile(path)).equals(bytes);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  await withFile(path, 'wx', async (file) => {
    await file.writeFile(bytes);
    await file.datasync();
  });
}

/** Level by level: `mkdir` with `recursive` reports a read-only disk as a missing folder. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || path === dirname(path)) throw error;
    await makeFolder(dirname(path));
    await makeFolder(path);
    return;
  }
  // The folder above must know of it after a power cut.
  await syncFolder(dirname(path));
}

async function syncFolder(path: string): Promise<void> {
  await withFile(path, 'r', (folder) => folder.sync());
}

async function withFile(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o644);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}

async function hashFile(path: string): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}

/** Best effort: the error that brought us here says more, and what stays is removed as abandoned. */
async function removeDraft(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    try {
      if (Date.now() - (await stat(path)).mtimeMs > ABANDONED_MS) await rm(path, { force: true });
    } catch (error) {
      // Its writer has just renamed it.
      if (!isMissing(error)) throw error;
    }
  }
}
