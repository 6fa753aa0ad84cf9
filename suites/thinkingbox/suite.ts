/**
 * ThinkingBox-Bench as a suite: cases, servers and checks of an official checkout, run unchanged.
 *
 * The bridge (native/thinkingbox) reads cases and runs checks with the official package. Servers run as processes
 * of the sandbox. Golden calls stay in the bridge: the agent's server is given its start state only, and what a
 * perfect episode leaves behind is worked out beside it.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Fault, UsageError } from '../../core/faults.js';
import { nearestFew } from '../../core/nearest.js';
import type { Suite, Task, TaskRef } from '../../core/suite.js';
import { Bridge, BridgeError, type BridgeRequest } from './bridge.js';
import { checkCheckout } from './checkout.js';
import { domainOf } from './domains.js';
import {
  foundCases,
  goldenCalls,
  type ListedCase,
  listedCases,
  loadedCase,
  type ScriptedCall,
} from './protocol.js';
import { checkPython, pythonEnvironment, requirementsDigest } from './python.js';
import { type ServerStart, ThinkingBoxTask } from './task.js';

/** Raised when this adapter reads or grades the same case differently than before. */
const ADAPTER = 1;
const BENCHMARK_LIST = 'releases/thinkingbox_bench_v1/testlist_thinkingbox_bench_v1.yaml';
/** Parsing every case of the benchmark takes a second of CPU. */
const OPEN_TIMEOUT_MS = 300_000;
/** The first case of a scenario imports its server's modules. */
const LOAD_TIMEOUT_MS = 120_000;

export interface ThinkingBoxOptions {
  /** Checkout of the framework. */
  readonly thinkingboxDir: string;
  /** Checkout of `thinkingbox-data`. */
  readonly dataDir: string;
  /** Interpreter that `prepareThinkingBox` made. */
  readonly python: string;
  /** Ids `file.py:test_name`; the benchmark's own list by default. */
  readonly cases?: readonly string[];
  readonly servers?: ServerStart;
  /** Names of the options as the user knows them, for messages. */
  readonly places?: { readonly thinkingboxDir: string; readonly dataDir: string };
}

export interface ThinkingBoxSuite extends Suite {
  /** The case's golden solution. Test material only: never shown to a model, never probed or trained on. */
  goldenCalls(taskId: string): Promise<readonly ScriptedCall[]>;
  /** Tasks of this suite that begin with this message. */
  tasksOpening(opening: string): Promise<readonly string[]>;
}

/**
 * Checks both checkouts and reads the cases. Throws `UsageError` for a missing folder, another revision, an
 * interpreter without the packages, an unknown or repeated id, or a case file that cannot be read.
 */
export async function createThinkingBox(options: ThinkingBoxOptions): Promise<ThinkingBoxSuite> {
  const { python, places = { thinkingboxDir: 'thinkingboxDir', dataDir: 'dataDir' } } = options;
  const framework = await checkCheckout(options.thinkingboxDir, 'thinkingbox', places.thinkingboxDir);
  const data = await checkCheckout(options.dataDir, 'data', places.dataDir);
  await checkPython(python);
  const benchmark = await readList(join(data.dir, BENCHMARK_LIST));
  const names = options.cases ?? benchmark;
  refuseRepeated(names);
  const env = pythonEnvironment(python, { thinkingboxDir: framework.dir, dataDir: data.dir });
  const bridge = new Bridge({ python, dataDir: data.dir, env });
  try {
    // Benchmark cases are read too: a case that shares its start state and solution with one of them is one.
    const all = await open(bridge, [...new Set([...names, ...benchmark])]);
    const benchmarkIds = new Set(benchmark);
    const benchmarkDigests = new Set(
      all.filter(({ id }) => benchmarkIds.has(id)).map((one) => one.templateDigest),
    );
    const wanted = new Set(names);
    const refs = all
      .filter(({ id }) => wanted.has(id))
      .map((one) => taskRef(one, benchmarkDigests.has(one.templateDigest)));
    const version = [ADAPTER, framework.revision, data.revision, await requirementsDigest()];
    return new OpenSuite(
      refs,
      digestOf([...version, ...refs.map(({ id, digest }) => `${id} ${digest}`)]),
      bridge,
      env,
      options.servers,
    );
  } catch (error) {
    await bridge.close();
    throw error;
  }
}

class OpenSuite implements ThinkingBoxSuite {
  readonly name = 'thinkingbox';
  readonly isolation = 'process';
  private readonly refs: ReadonlyMap<string, TaskRef>;

  constructor(
    refs: readonly TaskRef[],
    readonly digest: string,
    private readonly bridge: Bridge,
    private readonly env: Readonly<Record<string, string>>,
    private readonly servers: ServerStart = 'forked',
  ) {
    this.refs = new Map(refs.map((ref) => [ref.id, ref]));
  }

  async tasks(): Promise<readonly TaskRef[]> {
    return [...this.refs.values()];
  }

  async load(taskId: string): Promise<Task> {
    const ref = this.ref(taskId);
    const loaded = await this.ask({ op: 'load', body: { name: taskId }, reply: loadedCase });
    return new ThinkingBoxTask(ref, loaded, this.bridge, this.env, this.servers);
  }

  async goldenCalls(taskId: string): Promise<readonly ScriptedCall[]> {
    this.ref(taskId);
    return this.ask({ op: 'golden', body: { name: taskId }, reply: goldenCalls });
  }

  async tasksOpening(opening: string): Promise<readonly string[]> {
    const found = await this.ask({
      op: 'find',
      body: { opening, names: [...this.refs.keys()] },
      reply: foundCases,
    });
    return found;
  }

  close(): Promise<void> {
    return this.bridge.close();
  }

  private ref(taskId: string): TaskRef {
    const ref = this.refs.get(taskId);
    if (!ref) throw unknownCase(taskId, [...this.refs.keys()]);
    return ref;
  }

  private async ask<T>(request: Pick<BridgeRequest<T>, 'op' | 'body' | 'reply'>): Promise<T> {
    try {
      return await this.bridge.request({
        ...request,
        signal: new AbortController().signal,
        timeoutMs: LOAD_TIMEOUT_MS,
      });
    } catch (error) {
      throw asInputError(error);
    }
  }
}

async function open(bridge: Bridge, names: readonly string[]): Promise<readonly ListedCase[]> {
  try {
    return await bridge.request({
      op: 'open',
      body: { names },
      reply: listedCases,
      signal: new AbortController().signal,
      timeoutMs: OPEN_TIMEOUT_MS,
    });
  } catch (error) {
    throw asInputError(error);
  }
}

/** Bad input as `UsageError`; anything else that the bridge says while reading cases is the suite's fault. */
function asInputError(error: unknown): unknown {
  if (error instanceof BridgeError) {
    const { code, message, details, trace } = error.failure;
    if (code === 'unknown_case')
      return unknownCase(message.replace(/^unknown case /, ''), details?.known ?? []);
    if (code === 'bad_input') {
      return new UsageError(
        details?.place ?? 'case',
        details?.expected ?? 'a readable case',
        details?.found ?? message,
      );
    }
    const fault = new Fault('suite', message, { cause: error });
    if (trace !== undefined) fault.stack = `${fault.name}: ${message}\n${trace}`;
    return fault;
  }
  if (error instanceof Fault) return error;
  // The bridge is gone: a new one may do better.
  return new Fault('suite', error instanceof Error ? error.message : String(error), {
    cause: error,
    retry: true,
  });
}

function unknownCase(id: string, known: readonly string[]): UsageError {
  const near = nearestFew(id, known, 3);
  const fix = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : undefined;
  return new UsageError('case id', 'a case of the checkout (file.py:test_name)', `"${id}"`, fix);
}

function refuseRepeated(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new UsageError('list of cases', 'each id once', `"${name}" twice`);
    seen.add(name);
  }
  if (names.length === 0) throw new UsageError('list of cases', 'at least one id', 'none');
}

function taskRef(listed: ListedCase, benchmark: boolean): TaskRef {
  const { id, scenario, domain, digest, templateDigest } = listed;
  return {
    id,
    domain: domainOf(scenario, domain),
    // Every case is a template of its own: nothing is generated from parameters.
    template: id.slice(id.indexOf(':') + 1),
    digest,
    templateDigest,
    split: benchmark ? 'benchmark' : 'train',
  };
}

/** A YAML list of case ids. Throws `UsageError` when it is anything else. */
export async function readList(path: string): Promise<readonly string[]> {
  let value: unknown;
  try {
    value = parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UsageError(
      path,
      'a readable YAML list of case ids',
      error instanceof Error ? error.message : String(error),
    );
  }
  if (!Array.isArray(value)) throw new UsageError(path, 'a YAML list of case ids', typeof value);
  for (const [index, item] of value.entries()) {
    if (typeof item !== 'string')
      throw new UsageError(`${path}, item ${index + 1}`, 'a case id', JSON.stringify(item));
  }
  return value as string[];
}

function digestOf(parts: readonly (string | number)[]): string {
  return `sha256:${createHash('sha256').update(parts.join('\n')).digest('hex')}`;
}
