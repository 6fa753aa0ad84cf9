/**
 * Proof that hosts share a folder: each writes a file of its own with content that nobody can guess, each reads those
 * of all others. A promise, a path that is spelled the same, or a mount of the same kind proves nothing.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProbeFile, ProbeSight } from '../../core/cluster.js';

/** A file that another host has just written may take so long to be seen through a network file system. */
const PATIENCE_MS = 3_000;
const EVERY_MS = 250;
const NAME = /^[A-Za-z0-9.-]+$/;

/** Probes lie in a folder of their own, so that what a failed probe leaves is in nobody's way. */
const probeFolder = (folder: string): string => path.join(folder, '.steadfast-preflight');

/** Written through to the file server before it is told of. */
export async function writeProbeFile(folder: string, name: string): Promise<ProbeFile> {
  const content = randomBytes(16).toString('hex');
  await mkdir(probeFolder(folder), { recursive: true });
  const file = await open(probePath(folder, name), 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  return { name, content };
}

/** What is missing is looked for again until `patienceMs` is over. */
export async function readProbeFiles(
  folder: string,
  wanted: readonly ProbeFile[],
  signal: AbortSignal,
  patienceMs = PATIENCE_MS,
): Promise<ProbeSight> {
  const until = Date.now() + patienceMs;
  for (;;) {
    const sights = await Promise.all(wanted.map((file) => sightOf(folder, file)));
    if (sights.every(([, sight]) => sight === 'seen') || Date.now() >= until)
      return Object.fromEntries(sights);
    await sleep(EVERY_MS, undefined, { signal });
  }
}

/** Takes the host's own file away, and the folder of probes with the last one. */
export async function removeProbeFile(folder: string, name: string): Promise<void> {
  await rm(probePath(folder, name), { force: true });
  await rmdir(probeFolder(folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  });
}

async function sightOf(folder: string, { name, content }: ProbeFile): Promise<[string, string]> {
  try {
    const found = await readFile(probePath(folder, name), 'utf8');
    return [name, found === content ? 'seen' : 'another content'];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return [name, code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : message];
  }
}

/** Names come over the network: one that leaves the folder is refused. */
function probePath(folder: string, name: string): string {
  if (!NAME.test(name)) throw new Error(`probe file: expected a plain name, found ${JSON.stringify(name)}`);
  return path.join(probeFolder(folder), name);
}
