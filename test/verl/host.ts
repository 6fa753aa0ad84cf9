/** A GPU host in this process whose Verl is a stand-in: real processes, a real ledger, short clocks. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { HashCache } from '../../activities/host/hash-cache.js';
import { createPgJobs } from '../../activities/ledger/jobs.js';
import type { JobDeps } from '../../activities/verl/deps.js';
import { endJobs, type JobDone, keepJob } from '../../activities/verl/keeper.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import type { TrainConfig } from '../../core/campaign.js';
import { campaignClaim } from '../../core/claim.js';
import type { CampaignRow } from '../../core/ledger.js';
import { runFileSchema } from '../../core/schemas/run-file.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import type { JobNote, JobTimes } from '../../core/verl/job.js';
import { boundLog, openLog, sizeOf, tail } from '../../infra/stack/logs.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import type { TestDatabase } from '../postgres.js';
import { referenceFile } from '../stand-in-cluster/material.js';

export const STAND_IN = path.join(import.meta.dirname, 'fixtures', 'stand-in-verl.mjs');
/** A day: what is not tested never happens. */
const NEVER = 86_400_000;

const QUICK: JobTimes = {
  silentMs: NEVER,
  backoffMs: { first: 5, longest: 10 },
  graceMs: 5_000,
  lookMs: 10,
  tidyMs: 20,
  notFiniteSteps: 3,
};

export interface Mood {
  readonly stepMs?: number;
  readonly deaf?: boolean;
  readonly hold?: number;
  readonly faults?: readonly { readonly at: number; readonly what: string; readonly times?: number }[];
}

interface Keeper {
  readonly ended: Promise<JobDone>;
  leave(): void;
}

let hosts = 0;

export class JobHost {
  readonly said: string[] = [];
  readonly #keepers: Keeper[] = [];

  private constructor(
    readonly folder: string,
    readonly host: string,
    readonly db: TestDatabase,
  ) {}

  static async make(db: TestDatabase): Promise<JobHost> {
    // A space: no command line may do without it.
    const folder = await mkdtemp(path.join(tmpdir(), 'verl host '));
    return new JobHost(folder, `v${process.pid}-${hosts++}`, db);
  }

  get checkpoints(): string {
    return path.join(this.folder, 'checkpoints');
  }

  deps(times: Partial<JobTimes> = {}): JobDeps {
    const { db, host, folder } = this;
    return {
      ...{ ledger: db.ledger, jobs: createPgJobs(db.pool), host, folder },
      reports: path.join(folder, 'reports'),
      env: { STAND_IN_MOOD: path.join(folder, 'mood.json'), STAND_IN_PARENT: String(process.pid) },
      hashes: new HashCache(path.join(folder, 'hashes.json')),
      tools: { openLog, boundLog, sizeOf, tail },
      times: { ...QUICK, ...times },
      endServers: async () => 0,
      say: (line) => this.said.push(line),
    };
  }

  /** Replaced as a whole: the stand-in reads it all the time. */
  async mood(mood: Mood): Promise<void> {
    const beside = path.join(this.folder, 'mood.new');
    await writeFile(beside, JSON.stringify(mood));
    await rename(beside, path.join(this.folder, 'mood.json'));
  }

  /** A run of 6 steps, saved every 2, by 4 processes; in the ledger, and running. */
  async claim(
    name: string,
    change: Partial<TrainConfig> & { restarts?: number; silentMs?: number } = {},
  ): Promise<string> {
    const { restarts = 3, silentMs, ...rest } = change;
    const reference = referenceFile();
    const { tasks: _, ...train } = reference.train;
    const [first] = reference.trainer.hosts;
    const file = runFileSchema.parse({
      ...reference,
      suite: 'deskbench',
      train: { ...train, steps: 6, saveEvery: 2, keepLast: 2, keepEvery: 0 },
      trainer: {
        ...reference.trainer,
        ...{ python: STAND_IN, checkpoints: this.checkpoints, restarts },
        hosts: [{ ...first, name: this.host, gpus: 4 }],
      },
    });
    const resolved = uncheckedTrainConfig(file, createDeskbench(), ['a', 'b']);
    // Shorter than a run file may say.
    const trainer = { ...(resolved.trainer as VerlConfig), ...(silentMs === undefined ? {} : { silentMs }) };
    const config = { ...resolved, trainer, ...rest };
    const id = `train/${name}`;
    await this.db.ledger.claimCampaign(campaignClaim(id, config, null));
    return id;
  }

  keep(run: string, deps = this.deps()): Keeper {
    const controller = new AbortController();
    const ended = keepJob(deps, run, controller.signal);
    // A test that fails first leaves it rejected.
    ended.catch(() => undefined);
    const keeper = { ended, leave: () => controller.abort(new Error('the worker was killed')) };
    this.#keepers.push(keeper);
    return keeper;
  }

  async row(run: string): Promise<CampaignRow> {
    return (await this.db.ledger.campaign(run))!;
  }

  async note(run: string): Promise<JobNote> {
    return ((await this.row(run)).result as { job: JobNote }).job;
  }

  /** Waits until the job has come so far. */
  async atStep(run: string, step: number): Promise<void> {
    await until(`step ${step} of ${run}`, async () => {
      const { result } = await this.row(run);
      return ((result as { job?: JobNote } | null)?.job?.step ?? 0) >= step;
    });
  }

  /** Every start, and whether another was running then. */
  starts(): readonly { readonly pid: number; readonly from: number; readonly second: boolean }[] {
    const file = path.join(this.folder, 'starts.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as { pid: number; from: number; second: boolean });
  }

  /** Of each process that this host ever had. */
  async history(): Promise<readonly string[]> {
    const { rows } = await this.db.pool.query<{ state: string }>(
      'SELECT state FROM jobs WHERE host = $1 ORDER BY intended_at, id',
      [this.host],
    );
    return rows.map(({ state }) => state);
  }

  async end(): Promise<void> {
    for (const { leave } of this.#keepers) leave();
    await Promise.allSettled(this.#keepers.map(({ ended }) => ended));
    const deps = this.deps({ graceMs: 0 });
    for (const { serving } of await deps.jobs.openServers(this.host)) await endJobs(deps, serving, 'reaped');
    await rm(this.folder, { recursive: true, force: true });
  }
}
