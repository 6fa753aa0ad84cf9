/** The file `store-id` of an artifact store: what tells one folder from another, wherever it is mounted. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactFault, isMissing } from './errors.js';

export const STORE_ID = 'store-id';

/** Undefined where there is none. Throws `Fault('artifacts')`. */
export async function readStoreId(folder: string): Promise<string | undefined> {
  const path = join(folder, STORE_ID);
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw artifactFault(error, 'read', path);
  }
}

/** Writes `id`, or a new one, unless there is one already; that which is there afterwards. Makes the folder. */
export async function ensureStoreId(folder: string, id: string = randomUUID()): Promise<string> {
  const path = join(folder, STORE_ID);
  const draft = `${path}.${randomUUID()}`;
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(draft, `${id}\n`);
    // A link is there whole or not at all, and never takes another's place.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw artifactFault(error, 'write', path);
  } finally {
    await rm(draft, { force: true });
  }
  return (await readStoreId(folder)) ?? id;
}

/** Throws `Fault('artifacts')` for a folder in which nothing can be written, however much room there is. */
export async function requireWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw artifactFault(error, 'write', folder);
  }
}
