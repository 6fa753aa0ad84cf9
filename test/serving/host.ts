/** A GPU host in this process, its server a stand-in: real processes, a real ledger, short clocks. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { HashCache } from '../../activities/host/hash-cache.js';
import { createPgServings } from '../../activities/ledger/servings.js';
import type { KeeperDeps } from '../../activities/serving/deps.js';
import { endServers, type KeptUntil, keepServer } from '../../activities/serving/keeper.js';
import type { ServingRow, ServingSpec, Servings } from '../../core/serving/servings.js';
import type { ServingTimes } from '../../core/serving/times.js';
import { freePort } from '../../infra/stack/free-port.js';
import { boundLog, openLog, sizeOf, tail } from '../../infra/stack/logs.js';
import { VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import type { TestDatabase } from '../postgres.js';
import { BASE } from '../trainer/server.js';
import { safetensors } from './fixtures/safetensors.mjs';

const FIXTURES = path.join(import.meta.dirname, 'fixtures');
export const STAND_IN = path.join(FIXTURES, 'stand-in-vllm.mjs');
export const MERGER = path.join(FIXTURES, 'stand-in-merger.mjs');
/** A day: what is not tested never happens. */
const NEVER = 86_400_000;

export const QUICK: ServingTimes = {
  startMs: NEVER,
  mergeMs: NEVER,
  mergeSilentMs: NEVER,
  healthEveryMs: 50,
  canaryMs: 20_000,
  hungMs: NEVER,
  restarts: 2,
  backoffMs: { first: 10, longest: 20 },
  stableMs: NEVER,
  graceMs: 2_000,
  lookMs: 20,
  wantedMs: 40,
  keptMs: NEVER,
};

export interface Mood {
  readonly start?: 'oom' | 'crash' | 'never';
  readonly silent?: boolean;
  readonly busy?: boolean;
  readonly model?: string;
  readonly logprob?: number;
  readonly null?: boolean;
}

let hosts = 0;

export class TestHost {
  readonly servings: Servings;
  readonly said: string[] = [];
  private readonly keepers: { ended: Promise<KeptUntil>; leave(): void }[] = [];
  private constructor(
    readonly folder: string,
    readonly host: string,
    private readonly db: TestDatabase,
  ) {
    this.servings = createPgServings(db.pool);
  }

  static async make(db: TestDatabase): Promise<TestHost> {
    // A space: no command line may do without it.
    const folder = await mkdtemp(path.join(tmpdir(), 'gpu host '));
    return new TestHost(folder, `h${process.pid}-${hosts++}`, db);
  }

  deps(change: Partial<KeeperDeps> = {}, env: Readonly<Record<string, string>> = {}): KeeperDeps {
    const { servings, host, folder } = this;
    return {
      ...{ servings, host, folder, address: '127.0.0.1' },
      artifacts: createLocalArtifacts(path.join(folder, 'artifacts')),
      command: [process.execPath, STAND_IN],
      env: { STAND_IN_MOOD: this.moodFile, STAND_IN_PARENT: String(process.pid), ...env },
      programs: { merge: [process.execPath, MERGER, '{folder}', '{out}'], make: null },
      hashes: new HashCache(path.join(folder, 'hashes.json')),
      tools: { freePort, openLog, boundLog, sizeOf, tail },
      times: QUICK,
      say: (line) => this.said.push(line),
      ...change,
    };
  }

  get moodFile(): string {
    return path.join(this.folder, 'mood.json');
  }

  async mood(mood: Mood): Promise<void> {
    await writeFile(this.moodFile, JSON.stringify(mood));
  }

  /** The embedded policy's tokenizer beside an empty model of 2 layers. */
  async model(name = 'model'): Promise<string> {
    const folder = path.join(this.folder, name);
    if (!existsSync(folder)) await writeModel(folder);
    return folder;
  }

  async spec(change: Partial<ServingSpec> = {}): Promise<ServingSpec> {
    const weights = { folder: await this.model(), weightVersion: `sha256:${'a'.repeat(64)}` };
    return { weights, settings: VLLM, hosts: [], ...change };
  }

  /** Wanted here, by a test. */
  async want(name: string, spec?: ServingSpec): Promise<void> {
    await this.servings.want(name, spec ?? (await this.spec()), 'test', new Date(Date.now() + NEVER));
    await this.servings.takeServing(name, this.host);
  }

  keep(name: string, deps: KeeperDeps = this.deps()): { ended: Promise<KeptUntil>; leave(): void } {
    const controller = new AbortController();
    const ended = keepServer(deps, name, controller.signal);
    // A test that fails first leaves it rejected.
    ended.catch(() => undefined);
    const keeper = { ended, leave: () => controller.abort(new Error('the worker was killed')) };
    this.keepers.push(keeper);
    return keeper;
  }

  async when(name: string, what: string, holds: (row: ServingRow) => boolean): Promise<ServingRow> {
    return until(`${what} of ${name}`, async () => {
      const row = await this.servings.serving(name);
      return row !== undefined && holds(row) && row;
    });
  }

  ready(name: string): Promise<ServingRow> {
    return this.when(name, 'a ready server', ({ state, host }) => state === 'ready' && host === this.host);
  }

  async server(): Promise<{ id: string; pid: number; port: number; started: string }> {
    const [row, ...more] = await this.servings.openServers(this.host);
    if (!row?.pid || !row.started || more.length > 0)
      throw new Error(`servers: ${JSON.stringify([row, ...more])}`);
    return { id: row.id, pid: row.pid, port: row.port, started: row.started };
  }

  async end(): Promise<void> {
    for (const { leave } of this.keepers) leave();
    await Promise.allSettled(this.keepers.map(({ ended }) => ended));
    await endServers(this.deps(), 'ended');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Every server that this host ever had: all but the last must have ended. */
  async history(): Promise<readonly string[]> {
    const { rows } = await this.db.pool.query<{ state: string }>(
      'SELECT state FROM servers WHERE host = $1 ORDER BY intended_at, id',
      [this.host],
    );
    return rows.map(({ state }) => state);
  }
}

export const SHAPE = { num_hidden_layers: 2, vocab_size: 16, hidden_size: 4 } as const;

export async function writeModel(folder: string): Promise<void> {
  await mkdir(folder);
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(SHAPE));
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    await writeFile(path.join(folder, name), readFileSync(path.join(BASE, name)));
  const tensors = {
    'model.embed_tokens.weight': [SHAPE.vocab_size, SHAPE.hidden_size],
    'model.layers.0.mlp.weight': [4, 4],
    'model.layers.1.mlp.weight': [4, 4],
  };
  await writeFile(path.join(folder, 'model.safetensors'), safetensors(tensors));
}
