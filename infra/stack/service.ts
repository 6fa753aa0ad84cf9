/** One process of the stack, as the supervisor keeps it: how it is started, asked for its health, and ended. */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { type ProcessId, startedAt } from '../setup/process.mjs';
import type { StopPlan } from './info.js';
import { openLog } from './logs.js';
import type { PortName } from './ports.js';

export interface Service {
  readonly name: string;
  /** Names of the services that must be ready before this one is started. */
  readonly needs: readonly string[];
  readonly ports: readonly PortName[];
  readonly log: string;
  /** Digest of how it would be started now; asked when the services it needs are ready. */
  fingerprint(): string;
  /** True when `start` itself finds and adopts a running process. */
  readonly adopts?: boolean;
  readonly stop: StopPlan;
  /** Wall clock from start to ready, ms; then the start has failed. */
  readonly startLimitMs: number;
  /**
   * What a process of this service that is dead now still held is given back, before another is started. Returns what
   * is worth a line in the log. May throw: it is a courtesy, and the start goes on.
   */
  bury?(dead: ProcessId): Promise<string | undefined>;
  /** Starts the process. It may end at any time after; throws when it cannot be started at all. */
  start(): Promise<ProcessId>;
  /** Asks the process something real. Never throws: false is "not now". */
  healthy(id: ProcessId): Promise<boolean>;
  /** Once the process is healthy, each time it has been started: idempotent settings. */
  settle?(): Promise<void>;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
}

/** Marks every process of a stack, and what those start in turn: value is the home folder. */
export const STACK_MARK = 'STEADFAST_STACK';

/** Spawns in a session of its own: a Ctrl-C in the terminal is for whoever typed `up`, not for the services. */
export async function launch(command: Command): Promise<ProcessId> {
  const log = openLog(command.log);
  try {
    const child = spawn(command.file, [...command.args], {
      cwd: command.cwd,
      env: { ...process.env, ...command.env },
      stdio: ['ignore', log, log],
      detached: true,
    });
    const pid = await new Promise<number>((done, fail) => {
      child.once('error', fail);
      child.once('spawn', () => done(child.pid as number));
    });
    child.unref();
    // A process that is gone already gets a start time that no process has.
    return { pid, started: startedAt(pid) ?? 'ended' };
  } finally {
    closeSync(log);
  }
}

/** True when the address answers 2xx within the time. */
export async function answersOk(url: string, timeoutMs = 5_000): Promise<boolean> {
  return (await getText(url, timeoutMs)) !== undefined;
}

/** Body of a 2xx answer as text; undefined for everything else. */
export async function getText(url: string, timeoutMs = 5_000): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const body = await response.text();
    return response.ok ? body : undefined;
  } catch {
    // Refused, reset, timed out: whatever the reason, it does not answer now.
    return undefined;
  }
}
