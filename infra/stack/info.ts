/**
 * What is known of a running stack: `stack.json` in the home folder, written by the supervisor after every change.
 * It holds the database password, so only its owner may read it.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeAtomic } from '../setup/files.mjs';
import { isAlive, type ProcessId } from '../setup/process.mjs';
import { homeFolder } from '../setup/root.mjs';
import type { PassedOn } from './passed-on.js';

/** Where clients and workers find everything. Addresses stay the same over restarts of the stack. */
export interface StackInfo {
  readonly temporal: { readonly address: string; readonly ui: string; readonly namespace: string };
  readonly databaseUrl: string;
  /** Without `/v1`. */
  readonly trainerUrl: string;
  /** OpenAI base URLs, ending in `/v1`. */
  readonly userUrl: string;
  readonly judgeUrl: string;
  /** Folder of the artifact store. */
  readonly artifacts: string;
  readonly home: string;
  readonly processes: readonly StackProcess[];
  /** Variables of whoever typed `up` that the workers were given. */
  readonly passedOn?: PassedOn;
}

export type ProcessState = 'waiting' | 'starting' | 'ready' | 'restarting' | 'stopped';

export interface StackProcess {
  readonly name: string;
  /** 0 while there is no process. */
  readonly pid: number;
  /** Opaque start time: with `pid` it names this process and no later one. */
  readonly started: string;
  readonly log: string;
  readonly state: ProcessState;
  /** Times it was started again after it died on its own. */
  readonly restarts: number;
  /** Why the last start failed, or null. */
  readonly problem: string | null;
  /** Digest of how it was started; a changed one is started anew by the next `up`. */
  readonly fingerprint: string;
  readonly stop: StopPlan;
}

/** How a process is ended: `signal`, and SIGKILL after `graceMs`. Lower `order` first; equal ones together. */
export interface StopPlan {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
  readonly order: number;
}

export interface StackState extends StackInfo {
  readonly format: 1;
  readonly state: 'starting' | 'ready' | 'stopping' | 'failed';
  /** Why `failed`, in words for the person who typed `up`. */
  readonly problem: string | null;
  readonly supervisor: ProcessId;
  /** Digest of options and code: a stack with another one is brought up to date by `up`. */
  readonly fingerprint: string;
}

export const stackFile = (home: string): string => join(home, 'stack.json');
export const logFile = (home: string, name: string): string => join(home, 'logs', `${name}.log`);

/** The recorded state, whether its processes live or not; undefined when there is none. */
export function readState(home = homeFolder()): StackState | undefined {
  const state: StackState | undefined = readJson(stackFile(home));
  return state?.format === 1 ? state : undefined;
}

/** The running stack, or undefined: never started, stopped, or its supervisor was killed (`up` takes it over). */
export function readStack(home = homeFolder()): StackInfo | undefined {
  const state = readState(home);
  return state && state.state !== 'stopping' && isAlive(state.supervisor) ? state : undefined;
}

export function writeState(state: StackState): void {
  writeAtomic(stackFile(state.home), JSON.stringify(state, null, 2), 0o600);
}

export function removeState(home: string): void {
  rmSync(stackFile(home), { force: true });
}

/** Environment of every process of the stack (docs/contracts.md). */
export function stackEnvironment(info: StackInfo): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: info.temporal.address,
    TEMPORAL_NAMESPACE: info.temporal.namespace,
    DATABASE_URL: info.databaseUrl,
    STEADFAST_HOME: info.home,
    STEADFAST_ARTIFACTS: info.artifacts,
    STEADFAST_TRAINER_URL: info.trainerUrl,
    STEADFAST_USER_URL: info.userUrl,
    STEADFAST_JUDGE_URL: info.judgeUrl,
  };
}
