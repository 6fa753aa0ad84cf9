/**
 * `up` as a function. One call is enough in every state: nothing runs; a stack runs and is current; its code
 * or options have changed; its supervisor was killed; another `up` is at work.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../core/faults.js';
import { sha256 } from '../setup/files.mjs';
import { withLock } from '../setup/lock.mjs';
import { gone, isAlive, type ProcessId, signal, startedAt } from '../setup/process.mjs';
import { homeFolder, ROOT } from '../setup/root.mjs';
import { trainerDigest, typescriptDigest } from './code-digest.js';
import { externalDatabase, prepareExternalDatabase } from './database.js';
import { type Holder, hold } from './holders.js';
import { logFile, readStack, readState, type StackInfo, type StackState } from './info.js';
import { openLog, sizeOf, tail } from './logs.js';
import { passedOn } from './passed-on.js';
import { type PlanOptions, SERVICES, type ServiceName } from './plan.js';
import { requireStack } from './preflight.js';
import type { Through } from './through.js';
import { torchDigest, torchTrainer } from './torch-trainer.js';
import { servicesHere } from './trainer-elsewhere.js';

export interface StartOptions {
  /** Default: `.steadfast/` of the checkout, or STEADFAST_HOME. */
  readonly home?: string;
  /** Default: all. Fewer is for tests of one part; without all of them there can be no workers. */
  readonly services?: readonly ServiceName[];
  /** Default: one of each kind. */
  readonly workers?: Partial<PlanOptions['workers']> | 'none';
  /** Other ports by which the workers reach services, e.g. of proxies. Give the same at every start. */
  readonly through?: Through;
  /** Who will need the stack; it is recorded before anything is started. */
  readonly holder?: Holder;
  /** Aborted: throws `StartInterrupted` as soon as the stack can be ended by what it has written down. */
  readonly signal?: AbortSignal;
  /** Called with the state after each change, until the stack is ready. */
  readonly onProgress?: (state: StackState) => void;
}

/** The caller has aborted the start; what was started is for `leaveStack` to end. */
export class StartInterrupted extends Error {
  override readonly name = 'StartInterrupted';
}

const POLL_MS = 100;
/** The supervisor's own limits are shorter; this one is for a supervisor that hangs. */
const READY_LIMIT_MS = 5 * 60_000;

/**
 * The stack, ready. Throws `UsageError` for what the caller can fix (known before anything is started, where
 * possible), and an Error with the last lines of the log when a service does not start.
 */
export async function startStack(options: StartOptions = {}): Promise<StackInfo> {
  const home = options.home ?? homeFolder();
  const plan = planOptions(home, options);
  const fingerprint = sha256(JSON.stringify(plan)).slice(0, 16);
  mkdirSync(home, { recursive: true });
  return withLock(join(home, 'up.lock'), async () => {
    if (options.holder) hold(home, options.holder);
    const state = readState(home);
    if (state && isAlive(state.supervisor)) {
      if (state.fingerprint === fingerprint && state.state !== 'stopping')
        return untilReady(home, state.supervisor, 0, options);
      await replaceSupervisor(state);
    }
    const external = externalDatabase();
    if (external && plan.services.includes('postgres')) await prepareExternalDatabase(external);
    const logStart = sizeOf(logFile(home, 'supervisor'));
    const supervisor = await spawnSupervisor(plan, fingerprint);
    return untilReady(home, supervisor, logStart, options);
  });
}

function planOptions(home: string, options: StartOptions): PlanOptions {
  const asked = options.services ?? SERVICES;
  const complete = SERVICES.every((name) => asked.includes(name));
  const wanted = options.workers ?? (complete ? {} : 'none');
  const none = { pipeline: 0, sandbox: 0, gpu: 0 };
  const workers = wanted === 'none' ? none : { pipeline: 1, sandbox: 1, gpu: 1, ...wanted };
  if (!complete && Object.values(workers).some((count) => count > 0)) {
    throw new UsageError('workers', `all of ${SERVICES.join(', ')} for workers to use`, asked.join(', '));
  }
  const external = externalDatabase();
  const variables = passedOn(process.env, readStack(home)?.passedOn);
  const services = servicesHere(asked, variables);
  const torch = services.includes('trainer') ? torchTrainer(variables, home) : undefined;
  const chosen = torch ? { torch } : {};
  const tools = requireStack({ home, services, workers, ...chosen });
  return {
    home,
    services,
    workers,
    ...tools,
    externalDatabase: external ? sha256(external) : null,
    passedOn: variables,
    ...chosen,
    ...(options.through ? { through: options.through } : {}),
    code: {
      typescript: typescriptDigest(),
      trainer: services.includes('trainer') ? (torch ? torchDigest(torch) : trainerDigest()) : '',
    },
  };
}

/** Ends only the supervisor; the next one adopts the services. */
async function replaceSupervisor(state: StackState): Promise<void> {
  signal(state.supervisor, state.state === 'stopping' ? 'SIGTERM' : 'SIGUSR2');
  if (await gone(state.supervisor, state.state === 'stopping' ? 20_000 : 3_000)) return;
  signal(state.supervisor, 'SIGKILL');
  await gone(state.supervisor, 5_000);
}

async function spawnSupervisor(plan: PlanOptions, fingerprint: string): Promise<ProcessId> {
  const log = openLog(logFile(plan.home, 'supervisor'));
  try {
    const main = join(ROOT, 'dist', 'infra', 'stack', 'main.js');
    const child = spawn(process.execPath, [main, JSON.stringify({ plan, fingerprint })], {
      cwd: ROOT,
      stdio: ['ignore', log, log],
      detached: true,
    });
    const pid = await new Promise<number>((done, fail) => {
      child.once('error', fail);
      child.once('spawn', () => done(child.pid as number));
    });
    child.unref();
    return { pid, started: startedAt(pid) ?? 'ended' };
  } finally {
    closeSync(log);
  }
}

async function untilReady(
  home: string,
  supervisor: ProcessId,
  logStart: number,
  { onProgress, signal: told }: StartOptions,
): Promise<StackInfo> {
  const deadline = Date.now() + READY_LIMIT_MS;
  let shown = '';
  for (;;) {
    const alive = isAlive(supervisor);
    const state = readState(home);
    if (state?.supervisor.pid === supervisor.pid && state.supervisor.started === supervisor.started) {
      const text = JSON.stringify(state);
      if (text !== shown) onProgress?.(state);
      shown = text;
      if (state.state === 'ready' && alive) return state;
      if (told?.aborted) throw new StartInterrupted('interrupted while the stack was starting');
      if (state.state === 'failed') throw new Error(`the stack could not be started\n  ${state.problem}`);
    }
    if (!alive) {
      const words = tail(logFile(home, 'supervisor'), logStart);
      throw new Error(
        `the supervisor ended while the stack was starting (${logFile(home, 'supervisor')})\n${words}`,
      );
    }
    if (Date.now() > deadline)
      throw new Error(`the stack was not ready after ${READY_LIMIT_MS / 60_000} minutes`);
    await sleep(POLL_MS);
  }
}
