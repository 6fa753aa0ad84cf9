/**
 * The cases of a checkout as they were last listed, kept in the home: listing reads and hydrates every case. An entry is
 * named by all that decides it, so that a changed checkout has another.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { listedCases, userWords } from './protocol.js';

const listing = z.object({ cases: listedCases.min(1), userWords });
export type Listing = z.infer<typeof listing>;

/** Gives the kept listing of `parts`, or makes and keeps it. An entry that cannot be read is made again. */
export async function keptListing(
  folder: string | undefined,
  parts: readonly (string | number)[],
  make: () => Promise<Listing>,
): Promise<Listing> {
  if (folder === undefined) return make();
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const path = join(folder, `cases-${digest.slice(0, 32)}.json`);
  const kept = listing.safeParse(await readJson(path));
  if (kept.success) return kept.data;
  const listed = await make();
  await mkdir(folder, { recursive: true });
  const half = `${path}.${process.pid}`;
  await writeFile(half, JSON.stringify(listed));
  await rename(half, path);
  return listed;
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined; // not there, or half of it: it is made again
  }
}
