/**
 * Plays ThinkingBox episodes without Temporal, with an instant scripted policy and a judge that always says yes, and
 * prints one JSON document: verdicts, CPU time and memory of this process and all that it started.
 *
 *   node dist/test/bench/thinkingbox-play.js '{"policy": "golden", "concurrency": 8}'
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { type PlayedEpisode, playEpisode } from '../../activities/episode/play.js';
import { storeTrajectory } from '../../activities/episode/trajectory.js';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import type { Json, JsonObject } from '../../core/message.js';
import type { Task } from '../../core/suite.js';
import { replayPolicy } from '../../suites/thinkingbox/golden.js';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import type { ScriptedCall } from '../../suites/thinkingbox/protocol.js';
import type { SERVER_STARTS } from '../../suites/thinkingbox/task.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { memoryOf, readProcesses, treeOf, treeSeconds } from './process-times.js';

export interface PlayOptions {
  /** `golden` plays the golden calls; `nothing` none; the others change one of them, and skip cases without one. */
  readonly policy: 'golden' | 'nothing' | 'extra' | 'missing' | 'amount';
  readonly concurrency: number;
  /** Ids; all of the suite by default. */
  readonly cases?: readonly string[];
  readonly repeat?: number;
  /** So long a turn of the policy takes. */
  readonly turnDelayMs?: number;
  /** Looking at memory costs CPU time, which is then no figure. */
  readonly memory?: true;
  readonly servers?: (typeof SERVER_STARTS)[number];
}

export interface PlayReport {
  readonly episodes: number;
  readonly passed: number;
  readonly passedIds: readonly string[];
  readonly failedIds: readonly string[];
  readonly faults: readonly { readonly id: string; readonly message: string }[];
  readonly byDomain: Readonly<Record<string, { played: number; passed: number }>>;
  /** Opening of the suite apart. */
  readonly openSeconds: number;
  readonly cpuSeconds: number;
  /** Of it: this process, the warm servers with their sessions, the bridge. */
  readonly secondsOf: { readonly steadfast: number; readonly servers: number; readonly bridge: number };
  readonly wallSeconds: number;
  /** 0 where memory was not looked at. */
  readonly peakBytes: number;
  readonly trajectoryBytes: number;
}

const LOOK_EVERY_MS = 1_000;
/** More are the rule, and no names of exceptions. */
const MOST_NAMED = 50;

const options = JSON.parse(process.argv[2] ?? '{}') as PlayOptions;
const folder = mkdtempSync(join(tmpdir(), 'steadfast-bench-tb-'));
const driver = createProcessDriver(folder);
const yes = { ask: async () => true, complete: async () => 'Yes' };
const suite = await openThinkingBox({
  ...process.env,
  ...(options.servers === undefined ? {} : { THINKINGBOX_SERVERS: options.servers }),
});
try {
  process.stdout.write(`${JSON.stringify(await playAll())}\n`);
} finally {
  await suite.close();
  rmSync(folder, { recursive: true, force: true });
}

async function playAll(): Promise<PlayReport> {
  const refs = (await suite.tasks()).filter(({ id }) => options.cases?.includes(id) ?? true);
  const todo = Array.from({ length: options.repeat ?? 1 }, () => refs).flat();

  const artifacts = createLocalArtifacts(join(folder, 'artifacts'));
  const passedIds: string[] = [];
  const failedIds: string[] = [];
  const faults: { id: string; message: string }[] = [];
  const byDomain: Record<string, { played: number; passed: number }> = {};
  let peakBytes = 0;
  let trajectoryBytes = 0;
  const look = setInterval(() => {
    if (!options.memory) return;
    const pids = treeOf(process.pid, readProcesses());
    peakBytes = Math.max(
      peakBytes,
      pids.reduce((sum, pid) => sum + memoryOf(pid).bytes, 0),
    );
  }, LOOK_EVERY_MS);
  const openSeconds = treeSeconds(process.pid, readProcesses());
  const ownSeconds = process.cpuUsage();
  const started = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: options.concurrency }, async () => {
      for (let at = next++; at < todo.length; at = next++) {
        const ref = todo[at];
        if (!ref) return;
        const script = altered(await suite.goldenCalls(ref.id));
        if (!script) continue;
        const played = await play(await suite.load(ref.id), script, `bench-${process.pid}-${at}`);
        const digest = await storeTrajectory(artifacts, inputOf(ref.id, at), ref, played);
        trajectoryBytes += (await artifacts.get(digest)).length;
        const domain = byDomain[ref.domain] ?? { played: 0, passed: 0 };
        byDomain[ref.domain] = domain;
        domain.played += 1;
        if (played.fault) faults.push({ id: ref.id, message: played.fault.message });
        else if (played.clean?.verdict.passed) {
          passedIds.push(ref.id);
          domain.passed += 1;
        } else failedIds.push(ref.id);
        if ((at + 1) % 50 === 0) process.stderr.write(`${at + 1} of ${todo.length}\n`);
      }
    }),
  );
  clearInterval(look);
  return {
    episodes: passedIds.length + failedIds.length + faults.length,
    passed: passedIds.length,
    passedIds: passedIds.length <= MOST_NAMED ? passedIds : [],
    failedIds: failedIds.slice(0, 10),
    faults: faults.slice(0, 10),
    byDomain,
    openSeconds,
    secondsOf: secondsOf(ownSeconds),
    cpuSeconds: treeSeconds(process.pid, readProcesses()) - openSeconds,
    wallSeconds: (performance.now() - started) / 1_000,
    peakBytes,
    trajectoryBytes,
  };
}

function secondsOf(since: NodeJS.CpuUsage): PlayReport['secondsOf'] {
  const { user, system } = process.cpuUsage(since);
  const table = readProcesses();
  const running = (script: string) =>
    treeOf(process.pid, table)
      .filter((pid) => table.get(pid)?.parent === process.pid && commandOf(pid).includes(script))
      .reduce((sum, pid) => sum + treeSeconds(pid, table), 0);
  return { steadfast: (user + system) / 1e6, servers: running('warm.py'), bridge: running('bridge.py') };
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it has ended
  }
}

function play(task: Task, script: readonly ScriptedCall[], sandboxName: string): Promise<PlayedEpisode> {
  return playEpisode({
    task,
    policy: replayPolicy(script, options.turnDelayMs),
    driver,
    sandboxName,
    user: { answer: async () => 'i do not know' },
    judge: () => yes,
    sampling: SAMPLING,
    limits: EPISODE_LIMITS,
    seed: '1',
    signal: new AbortController().signal,
  });
}

function inputOf(taskId: string, at: number) {
  return {
    key: `bench · ${taskId} · ${at}`,
    taskId,
    suite: suite.name,
    tryNumber: 1,
    lastTry: 1,
    seed: '1',
    model: { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const,
    weightVersion: null,
    sampling: SAMPLING,
    limits: EPISODE_LIMITS,
  };
}

/** The script of this case, or undefined where it has nothing to alter. */
function altered(golden: readonly ScriptedCall[]): readonly ScriptedCall[] | undefined {
  const writes = golden.filter(({ name }) => /create|update|cancel|add|issue|process|schedule/.test(name));
  switch (options.policy) {
    case 'golden':
      return golden;
    case 'nothing':
      return [];
    case 'extra': {
      const write = writes.find(({ name }) => name.includes('create'));
      return write && [...golden, write];
    }
    case 'missing': {
      const last = writes.at(-1);
      return last && golden.filter((call) => call !== last);
    }
    case 'amount': {
      const at = golden.findIndex((call) => writes.includes(call) && withMore(call.arguments) !== undefined);
      return at < 0 ? undefined : golden.map((call, index) => (index === at ? raised(call) : call));
    }
  }
}

function raised(call: ScriptedCall): ScriptedCall {
  const args = withMore(call.arguments) as JsonObject;
  return { name: call.name, arguments: args, argumentsText: JSON.stringify(args) };
}

/** The value with its first number one higher, or undefined where it holds none. */
function withMore(value: Json): Json | undefined {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string' && /^\d+\.\d{2}$/.test(value)) return (Number(value) + 1).toFixed(2);
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const more = withMore(inner);
    if (more === undefined) continue;
    return Array.isArray(value)
      ? value.map((item: Json, index) => (String(index) === key ? more : item))
      : { ...value, [key]: more };
  }
  return undefined;
}
