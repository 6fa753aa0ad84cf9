/**
 * Which user the PostgreSQL server runs as. It refuses to be root, and demands to own its data folder, so:
 * an ordinary user runs it as himself; root runs it as the owner of the data folder, else as `postgres`, else as
 * `nobody`. When that user cannot reach the files (a clone under `/root`), the server alone keeps the capability
 * to pass folders, by `setpriv`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../../core/faults.js';

/** Undefined: as whoever we are. */
export type RunAs =
  | { readonly uid: number; readonly gid: number; readonly throughFolders: boolean }
  | undefined;

/** `paths` must be reachable by the server; `dataDir` decides the user when it exists and is not root's. */
export async function serverUser(paths: readonly string[], dataDir: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return undefined;
  const user = (await ownerOf(dataDir)) ?? passwdUser('postgres') ?? passwdUser('nobody');
  if (!user) {
    throw new UsageError(
      'PostgreSQL user',
      'a user "postgres" or "nobody" (PostgreSQL refuses to run as root)',
      'neither',
    );
  }
  const blocked = await firstBlocked(paths, user);
  if (blocked === undefined) return { ...user, throughFolders: false };
  if (!hasSetpriv()) {
    throw new UsageError(
      blocked,
      'a folder that an ordinary user can pass (PostgreSQL refuses to run as root)',
      'a folder for root only, and no `setpriv`',
      `Run "chmod o+x ${blocked}", install util-linux, or set DATABASE_URL`,
    );
  }
  return { ...user, throughFolders: true };
}

/** How to spawn `file` as that user. */
export function asUser(
  runAs: RunAs,
  file: string,
  args: readonly string[],
): { file: string; args: string[]; ids: { uid?: number; gid?: number } } {
  if (runAs === undefined) return { file, args: [...args], ids: {} };
  const { uid, gid } = runAs;
  if (!runAs.throughFolders) return { file, args: [...args], ids: { uid, gid } };
  const how = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
  ];
  return { file: 'setpriv', args: [...how, '--', file, ...args], ids: {} };
}

async function ownerOf(dataDir: string): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const { uid, gid } = await stat(dataDir);
    return uid === 0 ? undefined : { uid, gid };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** From the file, not from `id`: only a user that has an entry there may run `initdb`. */
function passwdUser(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** The first folder above one of the paths that the user cannot pass. */
async function firstBlocked(
  paths: readonly string[],
  user: { uid: number; gid: number },
): Promise<string | undefined> {
  for (const path of paths) {
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const { mode, uid, gid } = await stat(folder);
      const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & bit) === 0) return folder;
      if (folder === dirname(folder)) break;
    }
  }
  return undefined;
}

function hasSetpriv(): boolean {
  try {
    execFileSync('setpriv', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
