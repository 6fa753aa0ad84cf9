/**
 * Processes of a GPU host that outlive the worker that started them: in the ledger before they are started, in a group of
 * their own, and marked in their environment, so that whoever comes next finds all of each or nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync } from 'node:fs';
import { Fault } from '../../core/faults.js';
import type { ServerRow, Servings } from '../../core/serving/servings.js';
import { killNow, markedProcesses, processStart } from '../sandbox/process-identity.js';
import { paused } from './paused.js';

/** In the environment of every process of a server, its grandchildren too: the server's id. */
const SERVER_MARK = 'STEADFAST_SERVER';
/** Of the worker, and none of the server's business. */
const WITHHELD = /^(DATABASE_URL|TEMPORAL_|STEADFAST_)/;
const GONE_MS = 10_000;

/** What of this machine a server needs; the worker puts it together. */
export interface HostTools {
  freePort(): Promise<number>;
  /** A file descriptor to append to; a log that has grown too long is put aside first. */
  openLog(file: string): number;
  /** Puts a log that has grown too long aside, while its writer goes on. */
  boundLog(file: string): void;
  sizeOf(file: string): number;
  /** The last lines after byte `from`. */
  tail(file: string, from?: number): string;
}

export interface ProcessPlan {
  readonly serving: string;
  readonly host: string;
  readonly port: number;
  /** Digest of everything that makes it what it is; one that runs with another is not taken over. */
  readonly launch: string;
  readonly log: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface HostProcess {
  readonly id: string;
  readonly pid: number;
  readonly started: string;
  readonly port: number;
  readonly log: string;
  /** Where this process's part of the log begins. */
  readonly logStart: number;
  /** How it ended, while we are its parent. */
  readonly child?: ChildProcess;
}

type Ledger = Pick<Servings, 'intendServer' | 'serverStarted' | 'serverEnded' | 'openServers'>;

/** Throws `Fault('trainer', code: 'no_program')` for a command that cannot be started. */
export async function startProcess(
  ledger: Ledger,
  tools: HostTools,
  plan: ProcessPlan,
  keptMs: number,
): Promise<HostProcess> {
  const { serving, host, port, launch, log, command } = plan;
  const id = `${host}-${randomBytes(6).toString('hex')}`;
  const expiresAt = new Date(Date.now() + keptMs).toISOString();
  const logStart = tools.sizeOf(log);
  await ledger.intendServer({ id, serving, host, port, launch, log, expiresAt });
  const out = tools.openLog(log);
  try {
    const child = spawn(command[0]!, command.slice(1), {
      env: { ...inherited(), ...plan.env, [SERVER_MARK]: id },
      stdio: ['ignore', out, out],
      // A server is several processes: they end as a group.
      detached: true,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    const pid = child.pid!;
    // One that has ended already gets a start time that no process has.
    const started = (await processStart(pid)) ?? 'ended';
    await ledger.serverStarted(id, pid, started);
    return { id, pid, started, port, log, logStart, child };
  } catch (error) {
    if (!isSpawnError(error)) throw error;
    await ledger.serverEnded(id, 'ended');
    throw new Fault('trainer', `${command[0]}: ${error.message}`, {
      code: 'no_program',
      retry: false,
      cause: error,
    });
  } finally {
    closeSync(out);
  }
}

function isSpawnError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall?.startsWith('spawn') === true;
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || WITHHELD.test(name) ? [] : [[name, value]],
    ),
  );
}

export async function isRunning({ pid, started }: Pick<HostProcess, 'pid' | 'started'>): Promise<boolean> {
  return (await processStart(pid)) === started;
}

/** The process of a row, where its leader lives: what an earlier worker has started. */
export async function runningProcess(row: ServerRow, tools: HostTools): Promise<HostProcess | undefined> {
  const { id, pid, started, port, log } = row;
  if (pid === null || started === null || !(await isRunning({ pid, started }))) return undefined;
  return { id, pid, started, port, log, logStart: tools.sizeOf(log) };
}

/** Ends everything of a server: its group by SIGTERM and then SIGKILL, and what has left the group by its mark. */
export async function endServer(
  ledger: Ledger,
  row: Pick<ServerRow, 'id' | 'pid' | 'started'>,
  { graceMs, how }: { readonly graceMs: number; readonly how: 'ended' | 'reaped' },
): Promise<void> {
  const { id, pid, started } = row;
  const leader = pid !== null && started !== null ? { pid, started } : undefined;
  if (leader && (await isRunning(leader))) {
    signalGroup(leader.pid, 'SIGTERM');
    await until(async () => !(await isRunning(leader)), graceMs);
    if (await isRunning(leader)) killNow(-leader.pid);
  }
  const ended = await until(async () => {
    const left = await markedProcesses(id, SERVER_MARK);
    for (const process of left) killNow(process);
    return left.length === 0 && !(leader && (await isRunning(leader)));
  }, GONE_MS);
  if (!ended)
    throw new Fault('trainer', `server ${id} does not end, even by SIGKILL`, {
      code: 'not_ended',
      retry: false,
    });
  await ledger.serverEnded(id, how);
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    // Ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** True as soon as `holds`; false when it does not within the time. */
async function until(holds: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  for (let wait = 10; !(await holds()); wait = Math.min(2 * wait, 200)) {
    if (Date.now() > deadline) return false;
    await paused(wait);
  }
  return true;
}
