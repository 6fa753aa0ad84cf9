/**
 * Keeps the job of a run on this host until its last step is saved: started, watched, and started again from the newest
 * checkpoint that verifies when it dies, hangs, or its loss is no number any more; a bounded number of times.
 *
 * A job is known by what is in the ledger and in the process table, never by being a child: a worker that was killed
 * leaves a job that the next one keeps.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../core/faults.js';
import { registerSecret } from '../../core/secrets.js';
import type { ServerRow } from '../../core/serving/servings.js';
import { backoff } from '../../core/serving/times.js';
import { nameOf } from '../../core/stage-configs.js';
import type { JobNote } from '../../core/verl/job.js';
import { jobCommand, jobIdentity } from '../../core/verl/job-command.js';
import { jobFault } from '../../core/verl/last-words.js';
import { verlSettings } from '../../core/verl/settings.js';
import { campaignRow } from '../campaign/deps.js';
import { paused } from '../serving/paused.js';
import { endServer, type HostProcess, isRunning, runningProcess, startProcess } from '../serving/process.js';
import { RunCheckpoints, type VerlRunRow } from './checkpoints.js';
import type { JobDeps } from './deps.js';
import { claimFolder, stepFolder } from './folder.js';
import { RunSteps } from './steps.js';

/** Beside the steps, in the folder that all hosts share. */
const OURS = 'steadfast';

export interface JobDone {
  readonly checkpoint: number;
  readonly restarts: number;
}

/**
 * Throws `Fault('trainer')` when the run is given up (its job is ended), `host_busy` while the job of another run has
 * this host, and what the ledger throws (the job runs on). `alive` hears of it now and then.
 */
export async function keepJob(
  deps: JobDeps,
  run: string,
  signal: AbortSignal,
  alive: (note: JobNote) => void = () => undefined,
): Promise<JobDone> {
  const row = (await campaignRow(deps.ledger, run)) as unknown as VerlRunRow & { result: unknown };
  const { trainer } = row.config;
  registerKeys(row);
  const before = ((row.result ?? {}) as { job?: JobNote }).job;
  const job = new Job(deps, row, before, alive);
  await claimFolder(trainer.checkpoints, { run, fingerprint: row.fingerprint });
  await deps.endServers();
  // What a start that failed has left on a full disk is not worth keeping.
  let keepUnusable = true;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await job.once({ keepUnusable }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Fault) || error.kind !== 'trainer' || error.code === 'host_busy') throw error;
      await endJobs(deps, run, 'ended');
      keepUnusable = error.code !== 'disk_full';
      deps.say(`${run}: ${error.message}`);
      const { restarts } = job.note;
      const problem = `${error.code ?? 'job_died'}: ${error.message}`.slice(0, 4_000);
      if (!error.retry || restarts >= trainer.restarts) {
        await job.tell({ state: 'failed', problem });
        throw givenUp(run, restarts, error);
      }
      await job.tell({ state: 'restarting', problem, restarts: restarts + 1 });
      await paused(backoff(restarts + 1, deps.times.backoffMs), signal);
    }
  }
}

/** The job has them in its environment, so they may be in its last words. */
function registerKeys({ config: { people } }: VerlRunRow): void {
  for (const person of [people?.user, people?.judge]) {
    const key = person?.apiKeyEnv ? process.env[person.apiKeyEnv] : undefined;
    if (key) registerSecret(key);
  }
}

function givenUp(run: string, restarts: number, error: Fault): Fault {
  if (!error.retry) return error;
  const { code = 'job_died', message } = error;
  const times = restarts === 0 ? 'once' : `${restarts + 1} times`;
  return new Fault('trainer', `${run}: its job failed ${times}, last ${code}: ${message}`, {
    code,
    retry: false,
    cause: error,
  });
}

/** Ends every process of this run's jobs on this host, and notes it. */
export async function endJobs(deps: JobDeps, run: string, how: 'ended' | 'reaped'): Promise<void> {
  for (const row of await deps.jobs.openServers(deps.host)) {
    if (row.serving === run) await endServer(deps.jobs, row, { graceMs: deps.times.graceMs, how });
  }
}

/**
 * Ends jobs of this host whose run is not under way: it was paused or stopped while no worker was there to hear of it.
 * Returns their runs.
 */
export async function sweepJobs(
  deps: Pick<JobDeps, 'ledger' | 'jobs' | 'host' | 'times'>,
): Promise<readonly string[]> {
  const { ledger, jobs, host, times } = deps;
  const reaped: string[] = [];
  for (const row of await jobs.openServers(host)) {
    if ((await ledger.campaign(row.serving))?.state === 'running') continue;
    await endServer(jobs, row, { graceMs: times.graceMs, how: 'reaped' });
    reaped.push(row.serving);
  }
  return reaped;
}

class Job {
  note: JobNote;
  readonly #log: string;
  readonly #settings: ReturnType<typeof verlSettings>;

  constructor(
    private readonly deps: JobDeps,
    private readonly run: VerlRunRow,
    before: JobNote | undefined,
    private readonly alive: (note: JobNote) => void,
  ) {
    const name = nameOf(run.id);
    this.#log = path.join(deps.folder, 'logs', `${name}.log`);
    this.#settings = verlSettings(name, run.config);
    this.note = {
      ...{ state: 'starting', step: null, checkpoint: null, restarts: 0, metrics: null, problem: null },
      ...before,
      ...{ host: deps.host, log: this.#log },
    };
  }

  async tell(change: Partial<JobNote>): Promise<void> {
    this.note = { ...this.note, ...change };
    this.alive(this.note);
    await this.deps.ledger.noteOnCampaign(this.run.id, { job: this.note });
  }

  /** From a process that runs, or is started, to its end. Throws `Fault('trainer')` for an end before the last step. */
  async once(options: { readonly keepUnusable: boolean }, signal: AbortSignal): Promise<JobDone> {
    const { steps } = this.run.config;
    const checkpoints = new RunCheckpoints(this.deps, this.run);
    let process = await this.#running();
    const adopted = process !== undefined;
    if (process) await checkpoints.knownUpTo(Number.POSITIVE_INFINITY);
    else {
      const from = await checkpoints.choose(options, signal);
      if (from !== null && from >= steps) return this.#done(from);
      process = await this.#start(from);
      await this.tell({ state: 'running', checkpoint: from, step: from });
    }
    this.deps.say(
      `${this.run.id}: process ${process.pid} ${adopted ? 'taken over' : 'started'} (log: ${process.log})`,
    );
    await this.#watch(process, checkpoints, signal);
    const { newest } = checkpoints;
    if (newest !== null && newest >= steps) {
      await endJobs(this.deps, this.run.id, 'ended');
      return this.#done(newest);
    }
    throw await this.#ended(process);
  }

  async #done(checkpoint: number): Promise<JobDone> {
    await this.tell({ state: 'ended', checkpoint, step: checkpoint });
    return { checkpoint, restarts: this.note.restarts };
  }

  /** What an earlier worker has started. Everything else that is left on this host is ended first. */
  async #running(): Promise<HostProcess | undefined> {
    const { jobs, host, tools, times } = this.deps;
    const launch = this.#launch();
    let found: HostProcess | undefined;
    for (const row of await jobs.openServers(host)) {
      const mine = row.serving === this.run.id;
      const process = await runningProcess(row, { ...tools, freePort: noPort });
      if (!mine && process && (await this.#isWanted(row))) {
        const words = `host ${host} has the job of ${row.serving}, process ${process.pid}`;
        throw new Fault('trainer', words, { code: 'host_busy' });
      }
      // A file of metrics that nobody noted is of a start that nobody can follow.
      if (mine && process && row.launch === launch && this.note.metrics !== null && !found)
        found = { ...process, logStart: 0 };
      else await endServer(jobs, row, { graceMs: times.graceMs, how: 'reaped' });
    }
    return found;
  }

  /** Its workflow waits for this host, and would find it again. */
  async #isWanted({ serving }: ServerRow): Promise<boolean> {
    return (await this.deps.ledger.campaign(serving))?.state === 'running';
  }

  #launch(): string {
    const { python } = this.run.config.trainer;
    return createHash('sha256')
      .update(JSON.stringify(jobIdentity(python, this.#settings)))
      .digest('hex');
  }

  async #start(from: number | null): Promise<HostProcess> {
    const { jobs, host, tools, env } = this.deps;
    const { checkpoints, python } = this.run.config.trainer;
    const ours = path.join(checkpoints, OURS);
    await mkdir(ours, { recursive: true });
    // A file of its own for each start: Verl empties the one that it finds.
    const metrics = path.join(ours, `metrics-${randomBytes(4).toString('hex')}.jsonl`);
    await this.tell({ state: 'starting', metrics });
    const command = jobCommand(python, this.#settings, {
      ...{ metrics, hydra: path.join(ours, 'hydra') },
      from: from === null ? null : stepFolder(checkpoints, from),
    });
    const plan = {
      ...{ serving: this.run.id, host, port: 0, launch: this.#launch(), log: this.#log, command },
      env: { PYTHONUNBUFFERED: '1', HYDRA_FULL_ERROR: '1', VERL_FILE_LOGGER_PATH: metrics, ...env },
    };
    return startProcess(jobs, { ...tools, freePort: noPort }, plan, 0);
  }

  /** Until the process has ended, and everything that it has said and saved was read. */
  async #watch(process: HostProcess, checkpoints: RunCheckpoints, signal: AbortSignal): Promise<void> {
    const { times, tools } = this.deps;
    const steps = new RunSteps(this.deps, this.run, this.note.metrics!);
    let heard = Date.now();
    let tidied = heard;
    for (;;) {
      const running = await isRunning(process);
      if ((await steps.read()) > 0) {
        heard = Date.now();
        await this.tell({ state: 'running', step: steps.step });
      }
      await this.#discovered(checkpoints, running ? (steps.step ?? 0) : Number.POSITIVE_INFINITY, signal);
      if (!running) return;
      const { notFinite } = steps;
      if (notFinite.steps >= times.notFiniteSteps) {
        const words = `loss or gradient was no finite number in ${notFinite.steps} steps, from step ${notFinite.from} on`;
        throw new Fault('trainer', words, { code: 'not_finite' });
      }
      if (Date.now() - heard > this.#silentMs) throw this.#hung(process);
      if (Date.now() - tidied > times.tidyMs) {
        tidied = Date.now();
        tools.boundLog(process.log);
      }
      await paused(times.lookMs, signal);
    }
  }

  async #discovered(checkpoints: RunCheckpoints, upTo: number, signal: AbortSignal): Promise<void> {
    const [problem] = await checkpoints.discover(upTo, signal);
    const { newest } = checkpoints;
    if (problem !== undefined) await this.tell({ problem: `bad_checkpoint: ${problem}` });
    if (newest !== null && newest !== this.note.checkpoint) await this.tell({ checkpoint: newest });
  }

  get #silentMs(): number {
    return this.run.config.trainer.silentMs ?? this.deps.times.silentMs;
  }

  #hung(process: HostProcess): Fault {
    const words = `no new metrics for ${this.#silentMs / 1_000} s: it hangs (log: ${process.log})`;
    const said = this.#said(process);
    return new Fault('trainer', said === '' ? words : `${words}\n${said}`, { code: 'hung' });
  }

  async #ended(process: HostProcess): Promise<Fault> {
    const { child, log } = process;
    // Its end reaches us a moment after the process is gone.
    for (let looks = 0; child && child.exitCode === null && child.signalCode === null && looks < 100; looks++)
      await paused(10);
    const said = this.#said(process);
    return jobFault({ code: child?.exitCode ?? null, signal: child?.signalCode ?? null, said, log });
  }

  /** A log that was put aside meanwhile begins anew. */
  #said({ log, logStart }: HostProcess): string {
    const { sizeOf, tail } = this.deps.tools;
    return tail(log, sizeOf(log) < logStart ? 0 : logStart);
  }
}

function noPort(): Promise<number> {
  return Promise.resolve(0);
}
