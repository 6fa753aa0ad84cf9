/**
 * Keeps one serving on this host: its model is prepared, a server of an earlier worker is taken over or a new one
 * started, and watched until nobody needs it. A server that dies, hangs, or answers what its weights cannot is started
 * again, a bounded number of times; then the host is given up.
 *
 * A server is known by what is in the ledger and in the process table, never by being a child: a worker that was killed
 * leaves a server that the next one keeps.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Fault } from '../../core/faults.js';
import { vllmArguments } from '../../core/serving/flags.js';
import { endingFault } from '../../core/serving/last-words.js';
import { ACTIVE, type ServingRow } from '../../core/serving/servings.js';
import { backoff } from '../../core/serving/times.js';
import { readTokenizer } from '../policy/tokenizer-folder.js';
import { canary } from './canary.js';
import type { KeeperDeps } from './deps.js';
import { Health } from './health.js';
import { runProgram } from './made-by.js';
import { paused } from './paused.js';
import { type PreparedModel, prepareModel } from './prepare.js';
import { endServer, type HostProcess, isRunning, runningProcess, startProcess } from './process.js';

/** Why a keeper ended in order: nobody needs it, or it is to be elsewhere. */
export type KeptUntil = 'unneeded' | 'moved' | 'stopped';
type Why = KeptUntil | 'changed';

const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 2_000;

/** Throws `Fault('trainer')` when the host is given up (its server is ended), and what the ledger throws (it runs on). */
export async function keepServer(deps: KeeperDeps, name: string, signal: AbortSignal): Promise<KeptUntil> {
  const { servings, times } = deps;
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    const row = await servings.serving(name);
    const end = whyEnd(row, deps.host);
    if (end || !row) {
      await endServers(deps, 'ended');
      return end ?? 'stopped';
    }
    let readyAt = Number.POSITIVE_INFINITY;
    try {
      const why = await serveOnce(deps, row, signal, () => {
        readyAt = Date.now();
      });
      await endServers(deps, 'ended');
      if (why !== 'changed') return why;
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Fault) || error.kind !== 'trainer') throw error;
      await endServers(deps, 'ended');
      if (Date.now() - readyAt > times.stableMs) failures = 0;
      failures += 1;
      deps.say(`${name}: ${error.message}`);
      const { code = 'server_died', message } = error;
      const last = !error.retry || failures > times.restarts;
      await servings.note(
        name,
        { state: 'unwell', endpoint: null, problem: `${code}: ${message}`, restarts: row.restarts + 1 },
        deps.host,
      );
      if (last) throw givenUp(name, deps.host, failures, error);
      await paused(backoff(failures, times.backoffMs), signal);
    }
  }
}

function givenUp(name: string, host: string, failures: number, error: Fault): Fault {
  if (!error.retry) return error;
  const times = failures === 1 ? 'once' : `${failures} times`;
  return new Fault(
    'trainer',
    `${name}: its server on ${host} failed ${times}, last ${error.code}: ${error.message}`,
    {
      ...(error.code === undefined ? {} : { code: error.code }),
      retry: false,
      cause: error,
    },
  );
}

function whyEnd(row: ServingRow | undefined, host: string): KeptUntil | undefined {
  if (!row || !ACTIVE.includes(row.state)) return 'stopped';
  if (row.host !== host) return 'moved';
  return row.holders.length === 0 ? 'unneeded' : undefined;
}

/** From a prepared model to the reason why its server is to be ended. */
async function serveOnce(
  deps: KeeperDeps,
  row: ServingRow,
  signal: AbortSignal,
  ready: () => void,
): Promise<Why> {
  const { servings, host, artifacts } = deps;
  const { name, spec } = row;
  const note = async (change: Parameters<typeof servings.note>[1]): Promise<void> => {
    await servings.note(name, change, host);
  };
  const log = path.join(deps.folder, 'logs', `${name.replaceAll(/[^\w.-]/g, '-')}.log`);
  if (row.state === 'wanted') await note({ state: 'preparing', log });
  const model = await prepareModel(
    {
      cache: path.join(deps.folder, 'models'),
      hashes: deps.hashes,
      programs: deps.programs,
      run: (command, out, inner) => runProgram(deps, { serving: name, command, out, log }, inner),
    },
    spec.weights,
    signal,
  );
  const { server, adopted } = await adoptOrStart(deps, row, model, log);
  if (!adopted) await note({ state: 'starting', endpoint: null, log });
  const origin = originOf(deps, server);
  const { weightVersion } = spec.weights;
  const before = spec.weights.changing ? null : row.reference;
  const facts = { origin, model: weightVersion, vocabulary: model.vocabulary, reference: before };
  const reference = await untilReady(deps, server, facts, signal);
  ready();
  const { digest, bytes } = await readTokenizer(model.folder);
  if (!(await artifacts.has(digest))) await artifacts.put(bytes);
  await note({
    ...{ state: 'ready', endpoint: `${origin}/v1`, weightVersion, modelFiles: digest, log, problem: null },
    reference: before ?? reference,
  });
  deps.say(`${name}: process ${server.pid} ${adopted ? 'taken over' : 'ready'} at ${origin} (log: ${log})`);
  const compared = spec.weights.changing ? null : (before ?? reference);
  return watch(deps, row, server, { ...facts, reference: compared }, signal);
}

type CanaryFacts = Omit<Parameters<typeof canary>[0], 'timeoutMs'>;

function originOf({ address }: KeeperDeps, { port }: HostProcess): string {
  return `http://${address}:${port}`;
}

/** One server a host: whatever else is left of earlier keepers is ended first. */
async function adoptOrStart(
  deps: KeeperDeps,
  { name, spec }: ServingRow,
  model: PreparedModel,
  log: string,
): Promise<{ readonly server: HostProcess; readonly adopted: boolean }> {
  const { servings, host, address, tools, times } = deps;
  const { settings, weights } = spec;
  const launchAt = (port: number) =>
    vllmArguments(settings, { folder: model.folder, name: weights.weightVersion, host: address, port });
  const launch = createHash('sha256')
    .update(JSON.stringify([deps.command, launchAt(0), deps.env]))
    .digest('hex');
  let found: HostProcess | undefined;
  for (const row of await servings.openServers(host)) {
    const running =
      row.serving === name && row.launch === launch ? await runningProcess(row, tools) : undefined;
    if (running && !found) found = running;
    else await endServer(servings, row, { graceMs: times.graceMs, how: 'reaped' });
  }
  if (found) return { server: found, adopted: true };
  const port = await tools.freePort();
  const plan = { serving: name, host, port, launch, log, env: serverEnvironment(deps) };
  const command = [...deps.command, ...launchAt(port)];
  return { server: await startProcess(servings, tools, { ...plan, command }, times.keptMs), adopted: false };
}

/** It reads a folder: nothing is to be fetched, nobody to be told. */
function serverEnvironment({ env }: KeeperDeps): Readonly<Record<string, string>> {
  return { HF_HUB_OFFLINE: '1', VLLM_NO_USAGE_STATS: '1', DO_NOT_TRACK: '1', ...env };
}

/** Its first good completion. Throws `Fault('trainer')`, also `not_ready` when none comes in time. */
async function untilReady(
  deps: KeeperDeps,
  server: HostProcess,
  facts: CanaryFacts,
  signal: AbortSignal,
): Promise<number> {
  const { times } = deps;
  const deadline = Date.now() + times.startMs;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 1.5, LONGEST_LOOK_MS)) {
    let problem: Fault;
    try {
      const reference = await whileRunning(deps, server, signal, (inner) =>
        canary({ ...facts, timeoutMs: times.canaryMs }, inner),
      );
      // Who answered may have been another server, whose port this one could not have.
      if (await isRunning(server)) return reference;
      throw await ended(deps, server);
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'no_answer') throw error;
      problem = error;
    }
    if (!(await isRunning(server))) throw await ended(deps, server);
    if (Date.now() > deadline) {
      const said = deps.tools.tail(server.log, server.logStart);
      const message = `not ready after ${times.startMs / 1_000} s: ${problem.message} (log: ${server.log})\n${said}`;
      throw new Fault('trainer', message, { code: 'not_ready' });
    }
    await paused(wait, signal);
  }
}

/** A question to its port may be answered by nobody for long: somebody else's port, and the server is long gone. */
async function whileRunning<T>(
  deps: KeeperDeps,
  server: HostProcess,
  signal: AbortSignal,
  question: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  const look = setInterval(() => {
    isRunning(server).then(
      (running) => running || gone.abort(),
      (error: unknown) => gone.abort(error),
    );
  }, deps.times.lookMs);
  try {
    return await question(AbortSignal.any([signal, gone.signal]));
  } catch (error) {
    signal.throwIfAborted();
    throw gone.signal.aborted ? await ended(deps, server) : error;
  } finally {
    clearInterval(look);
  }
}

async function ended(deps: KeeperDeps, { child, log, logStart }: HostProcess): Promise<Fault> {
  // Its end reaches us a moment after the process is gone.
  for (let looks = 0; child && child.exitCode === null && child.signalCode === null && looks < 20; looks++)
    await paused(10);
  const said = deps.tools.tail(log, logStart);
  return endingFault({ code: child?.exitCode ?? null, signal: child?.signalCode ?? null, said, log });
}

/** Until there is a reason to end it. Throws `Fault('trainer')` for a server that is no good any more. */
async function watch(
  deps: KeeperDeps,
  row: ServingRow,
  server: HostProcess,
  facts: CanaryFacts,
  signal: AbortSignal,
): Promise<Why> {
  const { servings, times, tools, host } = deps;
  const health = new Health(times, facts, signal, async (unwell) => {
    await servings.note(row.name, { state: unwell === null ? 'ready' : 'unwell', problem: unwell }, host);
  });
  try {
    for (let asked = Date.now(); ; ) {
      if (!(await isRunning(server))) throw await ended(deps, server);
      health.look();
      if (Date.now() - asked >= times.wantedMs) {
        asked = Date.now();
        const now = await servings.serving(row.name);
        const end = whyEnd(now, host);
        if (end) return end;
        if (JSON.stringify(now?.spec) !== JSON.stringify(row.spec)) return 'changed';
        await servings.note(row.name, {}, host);
        await servings.serverKept(server.id, new Date(Date.now() + times.keptMs));
        tools.boundLog(server.log);
      }
      await paused(times.lookMs, signal);
    }
  } finally {
    health.end();
  }
}

/** Ends every server of this host that the ledger knows of; returns how many there were. */
export async function endServers(deps: KeeperDeps, how: 'ended' | 'reaped'): Promise<number> {
  const rows = await deps.servings.openServers(deps.host);
  for (const row of rows) await endServer(deps.servings, row, { graceMs: deps.times.graceMs, how });
  return rows.length;
}
