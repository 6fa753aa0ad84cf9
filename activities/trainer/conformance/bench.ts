/**
 * What every check works with: the trainer, batches that it can read, and sessions under names of the suite's own.
 * A check opens its own session, so checks run in any order and alone.
 */
import { randomBytes } from 'node:crypto';
import type { Digest } from '../../../core/artifacts.js';
import type { BatchEpisode } from '../../../core/batch.js';
import type { OperationStatus, Trainer, UpdatePlan, UpdateReport } from '../../../core/trainer.js';
import type { Capabilities } from './capabilities.js';
import { Broken } from './check.js';
import { sampleEpisodes, type WrittenBatch, type WrittenIndex, writeBatch, writeIndex } from './material.js';

/** Runs of the suite; a session of one is nobody's work in progress. */
export const OWN_RUNS = 'conformance/';

const BATCHES = 4;
const POLL_MS = 50;

/** Large enough that one update moves log-probabilities far beyond the bound between sampler and trainer. */
export const PLAN: UpdatePlan = {
  learningRate: 1e-3,
  weightDecay: 0,
  clip: 0.2,
  dualClip: 3,
  maxGradNorm: 1,
  normalisation: 'token-mean',
};

export interface Base {
  readonly weightVersion: Digest;
  /** Ends in `/v1`. */
  readonly endpoint: string;
}

export interface Bench {
  readonly trainer: Trainer;
  /** A client that knows nothing of the first: another worker. */
  readonly another: Trainer;
  readonly capabilities: Capabilities;
  readonly base: Base;
  /** Written on this machine, read and written by the trainer as well. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** How long an update of this suite may take, ms. */
  readonly waitMs: number;
  readonly batches: readonly [WrittenBatch, WrittenBatch, WrittenBatch, WrittenBatch];
  write(episodes: readonly BatchEpisode[]): Promise<WrittenBatch>;
  /** As a batch that refers to token records. */
  writeIndex(episodes: readonly BatchEpisode[]): Promise<WrittenIndex>;
  /** A new session from the base, or from a checkpoint folder of this run. */
  open(options?: { readonly run?: string; readonly from?: string }): Promise<Session>;
}

export interface Request {
  readonly op: string;
  readonly batch: WrittenBatch;
  /** The current weights when absent. */
  readonly baseDigest?: Digest;
  readonly plan?: Partial<UpdatePlan>;
}

/** One training session, seen by one client. */
export class Session {
  constructor(
    readonly trainer: Trainer,
    readonly run: string,
    private readonly signal: AbortSignal,
    /** How long a status may stay away from what it must become. */
    private readonly waitMs: number,
  ) {}

  state() {
    return this.trainer.state(this.signal);
  }

  /** Digest of the current weights. */
  async weights(): Promise<Digest> {
    const { weightDigest } = await this.state();
    if (weightDigest === undefined) throw new Broken('state names no weights while a session is open');
    return weightDigest;
  }

  async update(request: Request, signal: AbortSignal = this.signal): Promise<UpdateReport> {
    const { op, batch, plan } = request;
    const baseDigest = request.baseDigest ?? (await this.weights());
    return this.trainer.update(
      {
        ...{ run: this.run, op, baseDigest, batchDigest: batch.digest, batchPath: batch.path },
        ...(batch.recordPaths ? { recordPaths: batch.recordPaths } : {}),
        plan: { ...PLAN, ...plan },
      },
      signal,
    );
  }

  status(op: string): Promise<OperationStatus> {
    return this.trainer.status(this.run, op, this.signal);
  }

  /** Asks until the status is one of `states`. Throws `Broken` with the last one when it takes too long. */
  async statusWhen(op: string, states: readonly OperationStatus['state'][]): Promise<OperationStatus> {
    const deadline = Date.now() + this.waitMs;
    for (;;) {
      const status = await this.status(op);
      if (states.includes(status.state)) return status;
      if (Date.now() > deadline) {
        throw new Broken(`status of ${op}: expected ${states.join(' or ')}, still ${status.state}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

export interface BenchParts
  extends Pick<Bench, 'trainer' | 'another' | 'capabilities' | 'folder' | 'signal' | 'waitMs'> {}

/** Samples the batches, which every check shares; each check gets a bench whose calls end with its own signal. */
export async function createBenches(parts: BenchParts): Promise<(signal: AbortSignal) => Bench> {
  const { trainer, capabilities, folder, signal } = parts;
  const base = await trainer.serve(undefined, signal);
  const write = (episodes: readonly BatchEpisode[]) => writeBatch(folder, base.weightVersion, episodes);
  const source = { ...base, capabilities, signal };
  const batches: WrittenBatch[] = [];
  for (let number = 1; number <= BATCHES; number++) {
    batches.push(await write(await sampleEpisodes(source, number)));
  }
  const name = `${OWN_RUNS}${randomBytes(4).toString('hex')}`;
  let sessions = 0;
  return (checkSignal) => ({
    ...parts,
    signal: checkSignal,
    base,
    write,
    writeIndex: (episodes) => writeIndex(folder, base.weightVersion, episodes),
    batches: batches as unknown as Bench['batches'],
    async open({ run = `${name}-${++sessions}`, from } = {}) {
      await trainer.open(run, from, checkSignal);
      return new Session(trainer, run, checkSignal, parts.waitMs);
    },
  });
}
