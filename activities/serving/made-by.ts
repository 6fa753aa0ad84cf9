/**
 * A program that makes a model of a checkpoint, run to its end: known to the ledger like a server, so that one whose
 * worker was killed does not go on beside the next; ended when it takes too long or writes nothing any more.
 */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../core/faults.js';
import type { KeeperDeps } from './deps.js';
import { paused } from './paused.js';
import { endServer, type HostProcess, isRunning, startProcess } from './process.js';

export interface Program {
  readonly serving: string;
  readonly command: readonly string[];
  /** Where it writes. */
  readonly out: string;
  readonly log: string;
}

/** Throws `Fault('trainer', code: 'merge_failed')` with its last words, `no_program` where there is none. */
export async function runProgram(deps: KeeperDeps, program: Program, signal: AbortSignal): Promise<void> {
  const { servings, host, tools, times } = deps;
  const { serving, command, out, log } = program;
  // It needs the memory that a server has.
  for (const row of await servings.openServers(host))
    await endServer(servings, row, { graceMs: times.graceMs, how: 'reaped' });
  const launch = createHash('sha256').update(JSON.stringify(command)).digest('hex');
  const plan = { serving, host, port: 0, launch, log, command, env: deps.env };
  deps.say(`${serving}: ${command.join(' ')}`);
  const process = await startProcess(servings, tools, plan, times.keptMs);
  let problem: string | undefined;
  try {
    problem = await untilEnded(deps, process, out, signal);
  } finally {
    await endServer(servings, process, { graceMs: times.graceMs, how: 'ended' });
  }
  if (problem === undefined) return;
  const said = tools.tail(log, process.logStart);
  const message = `${command.join(' ')}: ${problem} (log: ${log})${said === '' ? '' : `\n${said}`}`;
  throw new Fault('trainer', message, { code: 'merge_failed' });
}

/** What is wrong with how it ended; undefined: nothing. */
async function untilEnded(
  { times, servings }: KeeperDeps,
  process: HostProcess,
  out: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const started = Date.now();
  let heard = started;
  let kept = started;
  let written = -1;
  const child = process.child!;
  while (child.exitCode === null && child.signalCode === null) {
    await paused(times.lookMs, signal);
    const now = Date.now();
    const bytes = (await sizeOf(out)) + (await stat(process.log)).size;
    if (bytes !== written) heard = now;
    written = bytes;
    if (now - heard > times.mergeSilentMs) return `wrote nothing for ${times.mergeSilentMs / 1_000} s`;
    if (now - started > times.mergeMs) return `not done after ${times.mergeMs / 1_000} s`;
    if (now - kept < times.wantedMs) continue;
    kept = now;
    await servings.serverKept(process.id, new Date(now + times.keptMs));
    if (!(await isRunning(process))) await paused(times.lookMs, signal);
  }
  if (child.exitCode === 0) return undefined;
  return child.signalCode === null ? `ended with code ${child.exitCode}` : `killed by ${child.signalCode}`;
}

/** Bytes of the files below a folder; what vanishes meanwhile counts nothing. */
async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(path.join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
