/**
 * The trainer contract: what owns weights and optimizer, reached by reference (design section 6).
 *
 * `update` is forward, backward and optimizer step as one unit and a compare-and-swap on the weight digest.
 * The applied operations are part of the trainer's state and saved inside every checkpoint, so a lost reply,
 * a duplicate or a zombie's late send can never apply an update twice.
 */
import type { Digest } from './artifacts.js';

export type AdvantageNormalisation = 'group-std' | 'none';

/**
 * Truncated importance weights: the loss of each sampled token is multiplied by min(exp(old - sampler), cap), a constant
 * in the gradient. `old`: the trainer's log-probability at the start of the update; `sampler`: the recorded one.
 */
export interface ImportanceWeights {
  readonly kind: 'truncated';
  readonly cap: number;
}

/** Beyond either number sampler and trainer are taken for different policies, and the update is refused (`off_policy`). */
export interface MismatchBound {
  /** Mean of |trainer - sampler| log-probability on sampled tokens, nats. */
  readonly meanAbove: number;
  /** Share of sampled tokens whose ratio lies outside [0.9, 1.1]. */
  readonly shareAbove: number;
}

/** How one update is computed. Numbers are those of the reference run unless changed. */
export interface UpdatePlan {
  readonly learningRate: number;
  readonly weightDecay: number;
  readonly clip: number;
  readonly dualClip: number;
  readonly maxGradNorm: number;
  /** Denominator of the loss: all sampled tokens of the batch. */
  readonly normalisation: 'token-mean';
  /** Absent: every token counts alike. Needs a trainer whose capabilities name it (`importance`). */
  readonly importance?: ImportanceWeights;
  /** Checked before the optimizer step. Needs a trainer whose capabilities say `mismatchBound`. */
  readonly mismatch?: MismatchBound;
}

export interface UpdateReport {
  readonly op: string;
  readonly baseDigest: Digest;
  readonly batchDigest: Digest;
  /** Digest of the weights after the update; equal to `baseDigest` when all advantages were zero. */
  readonly weightDigest: Digest;
  readonly optimizerDigest: Digest;
  readonly skipped: boolean;
  readonly loss: number;
  readonly gradNorm: number;
  readonly clipFraction: number;
  readonly entropy: number;
  /** Mean KL to the base of the policy that sampled the batch, on its sampled tokens (k3 estimator, nats per token). */
  readonly klToBase: number;
  /** |trainer - sampler| log-probability on sampled tokens: mean and maximum, nats. */
  readonly mismatchMean: number;
  readonly mismatchMax: number;
  /** Share of sampled tokens whose importance ratio lies outside [0.9, 1.1]. */
  readonly mismatchShare: number;
  /** With importance weights only: their mean, and the share of tokens at the cap. */
  readonly importanceMean?: number;
  readonly importanceCapped?: number;
  readonly tokens: number;
  readonly seconds: number;
}

export interface TrainerState {
  readonly build: string;
  readonly run: string | undefined;
  readonly step: number;
  readonly weightDigest: Digest | undefined;
  readonly optimizerDigest: Digest | undefined;
  readonly appliedOps: readonly string[];
  /** Weight digests that can be sampled from now. */
  readonly served: readonly Digest[];
}

export type OperationStatus =
  | { readonly state: 'unknown' }
  | { readonly state: 'running' }
  | { readonly state: 'done'; readonly report: UpdateReport }
  | { readonly state: 'failed'; readonly error: string };

export interface CheckpointManifest {
  readonly format: 1;
  readonly run: string;
  readonly step: number;
  readonly weightDigest: Digest;
  readonly optimizerDigest: Digest;
  readonly appliedOps: readonly string[];
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
  readonly trainerBuild: string;
  /** BLAS kernel and other facts that decide the bytes. */
  readonly numerics: Readonly<Record<string, string>>;
  readonly createdAt: string;
}

/**
 * Codes of `Fault('trainer')`: `not_open` (no session of this run: open and re-apply), `stale_base` (the current
 * weights are not `baseDigest`; nothing changed), `conflict` (the same op with another batch or plan),
 * `bad_checkpoint`, `bad_batch`, `off_policy` (beyond the plan's mismatch bound; nothing changed, the fault's details are
 * the report's mismatch figures), `unreachable`.
 */
export interface Trainer {
  capabilities(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  state(signal: AbortSignal): Promise<TrainerState>;
  /** New session: from the base (`from` undefined) or from a verified checkpoint folder. Replaces any session of another run. */
  open(run: string, from: string | undefined, signal: AbortSignal): Promise<TrainerState>;
  /** Makes the current weights samplable under their digest. Idempotent. */
  publish(run: string, signal: AbortSignal): Promise<{ weightVersion: Digest; endpoint: string }>;
  update(
    request: {
      readonly run: string;
      readonly op: string;
      readonly baseDigest: Digest;
      readonly batchDigest: Digest;
      readonly batchPath: string;
      /** Where the token records of a batch of references lie, by digest. Paths are no part of the operation's identity. */
      readonly recordPaths?: Readonly<Record<Digest, string>>;
      readonly plan: UpdatePlan;
    },
    signal: AbortSignal,
  ): Promise<UpdateReport>;
  status(run: string, op: string, signal: AbortSignal): Promise<OperationStatus>;
  /** Writes a checkpoint folder under `dir`; files synced, manifest last. Idempotent for the same step and digest. */
  checkpoint(
    run: string,
    dir: string,
    signal: AbortSignal,
  ): Promise<{ path: string; manifest: CheckpointManifest }>;
  /** Loads a checkpoint's weights (or the base, `undefined`) for sampling only; never touches the training session. */
  serve(from: string | undefined, signal: AbortSignal): Promise<{ weightVersion: Digest; endpoint: string }>;
  release(weightVersion: Digest, signal: AbortSignal): Promise<void>;
  /** Log-probabilities of fixed token sequences under the given weights, from the trainer's forward pass and from the sampler's. */
  probe(
    weightVersion: Digest,
    sequences: readonly (readonly number[])[],
    signal: AbortSignal,
  ): Promise<{ trainer: number[][]; sampler: number[][] }>;
}
