/**
 * ThinkingBox-Bench as a suite: cases, servers and checks of an official checkout, run unchanged.
 *
 * The bridge (native/thinkingbox) reads cases and runs checks with the official package. Servers run as processes
 * of the sandbox. Golden calls stay in the bridge: the agent's server is given its start state only, and what a
 * perfect episode leaves behind is worked out beside it.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { UsageError } from '../../core/faults.js';
import type { Suite, Task, TaskRef } from '../../core/suite.js';
import { benchmarkDigests, isBenchmark } from './benchmark.js';
import { Bridge, type BridgeRequest, type KeptStates } from './bridge.js';
import { checkCheckout, PINNED } from './checkout.js';
import { type ContainerForm, containerForm } from './container.js';
import { domainOf } from './domains.js';
import { imageName, type ServerFile, type ServerImage, serverFiles, serverImage } from './image.js';
import { asInputError, unknownCase } from './input-errors.js';
import { allNames, openAll, userWordsOf } from './listed.js';
import { keptListing } from './listing.js';
import { nativeFile } from './native.js';
import { foundCases, goldenCalls, type ListedCase, loadedCase, type ScriptedCall } from './protocol.js';
import { checkPython, pythonEnvironment, requirementsDigest } from './python.js';
import { type ServerStart, type TaskOptions, ThinkingBoxTask } from './task.js';

/** Raised when this adapter reads or grades the same case differently than before. */
const ADAPTER = 2;
/** Said wherever a result of the suite is shown. */
const NO_SEARCH =
  'search_policy is not available: no address of a Typesense was given, so the tool answers with an error';
const BENCHMARK_LIST = 'releases/thinkingbox_bench_v1/testlist_thinkingbox_bench_v1.yaml';
/**
 * As with the official runner: so long may a message take, and how often the two may speak is a case's own business. The
 * numbers are above every case's; the tokens of an episode end what never would.
 */
const LIMITS = { messageMs: 1_800_000, agentActions: 1_000, userTurns: 1_000 } as const;
/** The first case of a scenario imports its server's modules. */
const LOAD_TIMEOUT_MS = 120_000;

export interface ThinkingBoxOptions {
  /** Name that the suite goes by; `thinkingbox` by default. */
  readonly name?: string;
  /** Checkout of the framework. */
  readonly thinkingboxDir: string;
  /** Checkout of `thinkingbox-data`, or a folder in its form. */
  readonly dataDir: string;
  /** Interpreter that `prepareThinkingBox` made. */
  readonly python: string;
  /** Revisions other than the benchmark's that the person has accepted, as `revisionOf` gives them. */
  readonly accepted?: { readonly thinkingbox?: string | undefined; readonly data?: string | undefined };
  /** Ids `file.py:test_name`; by default the benchmark's own list, or every case of a folder that has none. */
  readonly cases?: readonly string[];
  readonly servers?: ServerStart;
  readonly states?: KeptStates;
  /** A Typesense for `search_policy`. Without one the tool answers with an error. */
  readonly search?: { readonly url: string; readonly key: string };
  /** Folder where listings are kept; none are without it. */
  readonly cache?: string;
  /** Names of the options as the user knows them, for messages. */
  readonly places?: { readonly thinkingboxDir: string; readonly dataDir: string };
}

export interface ThinkingBoxSuite extends Suite {
  /** The case's golden solution. Test material only: never shown to a model, never probed or trained on. */
  goldenCalls(taskId: string): Promise<readonly ScriptedCall[]>;
  /** What the image of its servers is made of; byte code is written into `folder`. */
  serverImage(folder: string): Promise<ServerImage>;
  /** The same without Python and its packages, and the list of these. */
  serverFiles(): Promise<readonly ServerFile[]>;
  /** Tasks of this suite that begin with this message. */
  tasksOpening(opening: string): Promise<readonly string[]>;
}

/**
 * Checks both checkouts and lists the cases. Throws `UsageError` for a missing folder, another revision, an
 * interpreter without the packages, an unknown or repeated id, or a case file that cannot be read.
 */
export async function createThinkingBox(options: ThinkingBoxOptions): Promise<ThinkingBoxSuite> {
  const { python, accepted, search, states } = options;
  const { places = { thinkingboxDir: 'thinkingboxDir', dataDir: 'dataDir' } } = options;
  const [framework, data] = await Promise.all([
    checkCheckout(options.thinkingboxDir, 'thinkingbox', places.thinkingboxDir, accepted?.thinkingbox),
    checkCheckout(options.dataDir, 'data', places.dataDir, accepted?.data),
  ]);
  await checkPython(python);
  const env = {
    ...pythonEnvironment(python, { thinkingboxDir: framework.dir, dataDir: data.dir }),
    ...(search ? { STEADFAST_TYPESENSE_URL: search.url, TYPESENSE_API_KEY: search.key } : {}),
  };
  const settings = { python, dataDir: data.dir, env, search: search !== undefined };
  const bridge = new Bridge({ ...settings, ...(states === undefined ? {} : { states }) });
  try {
    const names = options.cases ?? (await benchmarkList(data.dir));
    if (names) refuseRepeated(names);
    const requirements = await requirementsDigest();
    const version = [ADAPTER, framework.revision, data.revision, requirements];
    const { cases: listed, userWords: words } = await keptListing(
      options.cache,
      [...version, ...(names ?? ['all'])],
      async () => ({
        cases: await openAll(bridge, names ?? (await allNames(bridge))),
        userWords: await userWordsOf(bridge),
      }),
    );
    const known = await benchmarkDigests();
    const refs = listed.map((one) => taskRef(one, isBenchmark(one, known)));
    const searches = listed.some((one) => one.searches);
    const searched = search ? ['search'] : [];
    return new OpenSuite(
      options.name ?? 'thinkingbox',
      refs,
      digestOf([...version, ...searched, ...refs.map(({ id, digest }) => `${id} ${digest}`)]),
      refs.some(({ split }) => split === 'benchmark')
        ? notComparable(framework.revision, data.revision, search !== undefined || !searches)
        : [],
      words,
      bridge,
      env,
      python,
      {
        container: await containerForm({
          image: await imageName(options.name ?? 'thinkingbox', [
            framework.revision,
            data.revision,
            requirements,
          ]),
          checkouts: { thinkingboxDir: framework.dir, dataDir: data.dir },
          search,
        }),
        ...(options.servers === undefined ? {} : { servers: options.servers }),
        searches: search !== undefined,
      },
    );
  } catch (error) {
    await bridge.close();
    throw asInputError(error);
  }
}

/** Why results are not comparable with published ones. */
function notComparable(framework: string, data: string, search: boolean): readonly string[] {
  const others = [
    ...(framework === PINNED.thinkingbox.revision
      ? []
      : [`the framework is at another revision, ${framework}`]),
    ...(data === PINNED.data.revision ? [] : [`the cases are of another revision, ${data}`]),
  ];
  return search ? others : [...others, NO_SEARCH];
}

/** Undefined for a folder that is not the benchmark's: all its cases count. */
async function benchmarkList(dir: string): Promise<readonly string[] | undefined> {
  const path = join(dir, BENCHMARK_LIST);
  return existsSync(path) ? readList(path) : undefined;
}

class OpenSuite implements ThinkingBoxSuite {
  readonly isolation = 'process';
  readonly images: readonly string[];
  readonly endpoints: readonly string[];
  readonly limits = LIMITS;
  private readonly refs: ReadonlyMap<string, TaskRef>;

  constructor(
    readonly name: string,
    refs: readonly TaskRef[],
    readonly digest: string,
    readonly notComparable: readonly string[],
    readonly userWords: string,
    private readonly bridge: Bridge,
    private readonly env: Readonly<Record<string, string>>,
    private readonly python: string,
    private readonly options: TaskOptions & { readonly container: ContainerForm },
  ) {
    const { image, endpoints } = options.container;
    this.images = [image];
    this.endpoints = endpoints.map(({ address }) => address);
    this.refs = new Map(refs.map((ref) => [ref.id, ref]));
  }

  async tasks(): Promise<readonly TaskRef[]> {
    return [...this.refs.values()];
  }

  async load(taskId: string): Promise<Task> {
    const ref = this.ref(taskId);
    const loaded = await this.ask({ op: 'load', body: { name: taskId }, reply: loadedCase });
    return new ThinkingBoxTask(ref, loaded, this.bridge, this.env, this.options);
  }

  async serverImage(folder: string): Promise<ServerImage> {
    const programs = await this.ask({ op: 'programs', body: {}, reply: foundCases });
    const { image: tag, checkouts } = this.options.container;
    return serverImage({ tag, checkouts, python: this.python, env: this.env, programs, folder });
  }

  async serverFiles(): Promise<readonly ServerFile[]> {
    const requirements = { path: '/requirements.txt', from: nativeFile('requirements.txt') };
    return [requirements, ...(await serverFiles(this.options.container.checkouts))];
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
