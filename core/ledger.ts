/**
 * The ledger: what was planned, tried, finished, applied and saved. The one memory of a campaign.
 *
 * Invariants it can always answer for (`verify ledger`): planned = clean + pending + exhausted per campaign;
 * sandboxes created = released + reaped + open; one lineage of weight digests per run, each step once.
 * Every write is idempotent: an activity that is run again writes the same thing or learns that it is done.
 */
import type { Digest } from './artifacts.js';
import type { FaultKind, FaultRecord } from './faults.js';
import type { CampaignKind } from './keys.js';
import type { EpisodeSummary, Termination, Usage, Verdict } from './outcome.js';
import type { CheckpointManifest, UpdateReport } from './trainer.js';

export type CampaignState = 'running' | 'paused' | 'done' | 'failed' | 'stopped';

export interface CampaignRow {
  readonly id: string;
  readonly kind: CampaignKind;
  readonly state: CampaignState;
  /** The whole resolved configuration; `fingerprint` is the SHA-256 of its canonical JSON. */
  readonly config: unknown;
  readonly fingerprint: Digest;
  readonly suite: string;
  readonly suiteDigest: Digest;
  /** Campaign that started this one (the pipeline's id), or null. */
  readonly parent: string | null;
  /** What it ended with: metrics, selection, or the dominant cause of a failure. */
  readonly result: unknown;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

export interface PlannedAttempt {
  readonly key: string;
  readonly taskId: string;
  readonly slot: string;
  readonly domain: string;
  readonly template: string;
  readonly seed: string;
  /** For training attempts. */
  readonly step?: number;
  readonly round?: number;
  readonly group?: number;
  readonly member?: number;
}

/** A training attempt, and the key of the clean attempt whose result it takes over. */
export interface ReusedAttempt extends Required<PlannedAttempt> {
  readonly from: string;
}

export interface BeginTry {
  readonly key: string;
  /** Try number within the attempt, from 1, as the workflow counts it. */
  readonly tryNumber: number;
  /** Temporal's own attempt number of this activity, from 1 (above 1 after a worker was lost). */
  readonly activityAttempt: number;
  readonly worker: string;
  /** Where the name is of one that was started ahead (`sandboxesAhead`), this claims it. */
  readonly sandbox: IntendedSandbox;
}

/** A sandbox before anything of it is made. */
export interface IntendedSandbox {
  readonly name: string;
  readonly isolation: string;
  readonly host: string;
  /** ISO time. */
  readonly expiresAt: string;
}

/** A sandbox that was intended or created and never ended. */
export interface OpenSandbox {
  readonly name: string;
  readonly isolation: string;
  readonly worker: string;
  /** ISO time. */
  readonly expiresAt: string;
  /**
   * Its try has been over for longer than a release takes: the release did not get through. Never true of one that was
   * started ahead and is not claimed.
   */
  readonly abandoned: boolean;
}

export interface FinishTry {
  readonly key: string;
  readonly tryNumber: number;
  readonly activityAttempt: number;
  readonly wallMs: number;
  readonly usage: Usage;
  /** Clean: the verdict, termination and trajectory. */
  readonly clean?: {
    readonly verdict: Verdict;
    readonly termination: Termination;
    readonly trajectory: Digest;
    readonly effectsDigest: Digest;
    readonly weightVersion: Digest | null;
    readonly turns: number;
    readonly toolCalls: number;
    readonly toolErrors: number;
    readonly truncatedTurns: number;
  };
  /** System error: the fault, and whether the attempt is exhausted by it (no try is left). */
  readonly fault?: FaultRecord & {
    readonly exhausted: boolean;
    /** Partial trajectory, when there is one worth reading. */
    readonly trajectory: Digest | null;
  };
}

export type GroupState = 'informative' | 'zero_variance' | 'incomplete';

export interface GroupRow {
  readonly round: number;
  readonly group: number;
  readonly taskId: string;
  readonly state: GroupState;
  /** rewards[member]; null where the member was exhausted. */
  readonly rewards: readonly (number | null)[];
}

export type StepState = 'sampling' | 'sampled' | 'updated' | 'done' | 'failed' | 'skipped';

export interface StepRow {
  readonly run: string;
  readonly step: number;
  readonly state: StepState;
  /** Number of groups that all earlier committed steps had started: where this step begins in the endless order. */
  readonly cursor: number;
  /** Groups started by this step. */
  readonly started: number;
  readonly baseDigest: Digest | null;
  readonly weightDigest: Digest | null;
  readonly batchDigest: Digest | null;
  readonly op: string | null;
  readonly metrics: Readonly<Record<string, number | boolean | null>>;
  readonly cause: string | null;
}

export type OperationState = 'intended' | 'sent' | 'done' | 'failed';

export interface OperationRow {
  readonly op: string;
  readonly run: string;
  readonly step: number;
  readonly state: OperationState;
  readonly baseDigest: Digest;
  readonly batchDigest: Digest;
  readonly plan: unknown;
  readonly report: UpdateReport | null;
}

export interface CheckpointRow {
  readonly run: string;
  readonly step: number;
  readonly path: string;
  readonly manifest: CheckpointManifest;
  /** When its files were removed, and by what rule; absent while they are there. */
  readonly pruned?: { readonly at: string; readonly rule: string };
}

/** A trainer was brought to a state again: where it began, and which newer checkpoints were passed over. */
export interface RestoreRow {
  readonly run: string;
  /** Step whose weights were wanted. */
  readonly wanted: number;
  /** Step of the checkpoint that was opened; null: the start of the run. */
  readonly opened: number | null;
  /** Newest first. */
  readonly passedOver: readonly { readonly step: number; readonly reason: string }[];
  readonly at: string;
}

/** One attempt as metrics and selection read it; what is known only of clean ones is null for others. */
export interface AttemptRow {
  readonly key: string;
  readonly campaign: string;
  readonly taskId: string;
  readonly slot: string;
  readonly domain: string;
  readonly template: string;
  readonly state: 'pending' | 'clean' | 'exhausted';
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly termination: Termination | null;
  readonly trajectory: Digest | null;
  readonly weightVersion: Digest | null;
  readonly usage: Usage | null;
  readonly wallMs: number | null;
  /** Tries that were begun, those of lost workers included and superseded ones left out. */
  readonly tries: number;
  /** Those of them that a stop of the campaign ended; absent: none. No fault of anything. */
  readonly stopped?: number;
  readonly step: number | null;
  readonly round: number | null;
  readonly group: number | null;
  readonly member: number | null;
  readonly truncatedTurns: number | null;
}

export interface Counts {
  readonly planned: number;
  readonly clean: number;
  readonly passed: number;
  readonly pending: number;
  readonly exhausted: number;
  /** System-error tries by kind; those that a stop ended are none of them. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Tries that were in flight when the campaign was stopped; absent: none. */
  readonly stopped?: number;
}

/** Writes that campaigns and episodes need. All throw `Fault('ledger')` when the database does not answer. */
export interface Ledger {
  /**
   * Claims a campaign id. New: inserted, `created`. Known with the same fingerprint: `known`, with its row.
   * Known with another fingerprint: `UsageError` that lists every changed configuration path, old and new value.
   */
  claimCampaign(
    row: Pick<CampaignRow, 'id' | 'kind' | 'config' | 'fingerprint' | 'suite' | 'suiteDigest' | 'parent'>,
  ): Promise<{ readonly status: 'created' | 'known'; readonly row: CampaignRow }>;
  campaign(id: string): Promise<CampaignRow | undefined>;
  setCampaignState(id: string, state: CampaignState, result?: unknown): Promise<void>;
  /** Adds the note's members to the result and keeps the others, in one statement; the state stays unless it is given. */
  noteOnCampaign(id: string, note: Readonly<Record<string, unknown>>, state?: CampaignState): Promise<void>;

  /** Inserts what is not there yet; returns how many were new. At most 10,000 rows a call. */
  planAttempts(campaign: string, attempts: readonly PlannedAttempt[]): Promise<number>;
  /** Exhausted attempts, of one step where it is given, become pending again (their tries stay); returns their keys. */
  reopenExhausted(campaign: string, step?: number): Promise<readonly string[]>;
  /**
   * Plans attempts that take over the clean result of another attempt: each becomes clean with one try that names its
   * source, and no sandbox. One that is planned already stays as it is. Returns how many were new.
   */
  reuseAttempts(campaign: string, attempts: readonly ReusedAttempt[]): Promise<number>;
  /**
   * Opens a try, in one statement: closes running tries of the key as lost (their worker died), inserts this one
   * and the intended sandbox, or claims the one of that name that was started ahead (`Fault('ledger', code:
   * 'conflict')` when that has ended). When the attempt is already clean nothing is written and its summary is returned.
   */
  beginTry(begin: BeginTry): Promise<{ readonly clean?: EpisodeSummary }>;
  /** Writes down sandboxes that are about to be started ahead, for no try yet; `beginTry` claims them by name. */
  sandboxesAhead(worker: string, sandboxes: readonly IntendedSandbox[]): Promise<void>;
  sandboxCreated(name: string): Promise<void>;
  sandboxEnded(name: string, how: 'released' | 'reaped'): Promise<void>;
  /** Names of this host's sandboxes that were intended or created and never ended, by workers other than `alive`. */
  openSandboxes(host: string, aliveWorkers: readonly string[]): Promise<readonly OpenSandbox[]>;
  /** Which of these names are of sandboxes that were released or reaped. */
  endedSandboxes(names: readonly string[]): Promise<readonly string[]>;
  /** One transaction. `superseded` when the attempt was clean already: the try is kept, the outcome ignored. */
  finishTry(finish: FinishTry): Promise<'recorded' | 'superseded'>;

  attempts(campaign: string, filter?: { readonly step?: number }): Promise<readonly AttemptRow[]>;
  /** Keys that are planned and not clean, in plan order. */
  missingKeys(campaign: string): Promise<readonly PlannedAttempt[]>;
  counts(campaign: string): Promise<Counts>;

  putGroup(run: string, step: number, group: GroupRow): Promise<void>;
  groups(run: string, step: number): Promise<readonly GroupRow[]>;
  /**
   * Writes the row. A digest or op that is null keeps what is recorded; a step never goes back (sampling → sampled →
   * updated → done or skipped): a zombie's late write is ignored. `failed` may be written before the end, and left again.
   */
  putStep(step: StepRow): Promise<void>;
  steps(run: string): Promise<readonly StepRow[]>;

  /** `intended` before the trainer is told anything; the same op with another base or batch throws `Fault('ledger', code: 'conflict')`. */
  intendOperation(row: Omit<OperationRow, 'state' | 'report'>): Promise<OperationRow>;
  operationSent(op: string): Promise<void>;
  /** The trainer refused it for good; why is the cause of its step. One that is done stays so, one that is sent again is not. */
  operationFailed(op: string): Promise<void>;
  /** Records the report, marks the operation done and moves the step's weight digest, in one transaction. */
  operationDone(op: string, report: UpdateReport): Promise<void>;
  operations(run: string): Promise<readonly OperationRow[]>;

  /** A checkpoint that was pruned and is saved again is there again. */
  putCheckpoint(row: Omit<CheckpointRow, 'pruned'>): Promise<void>;
  /** Newest first, pruned ones included. */
  checkpoints(run: string): Promise<readonly CheckpointRow[]>;
  /**
   * Marks checkpoints as pruned, in one statement, except those that an unfinished campaign samples or starts from;
   * returns the rows that are marked now, earlier ones included, so that whoever died before removing files goes on.
   */
  pruneCheckpoints(run: string, steps: readonly number[], rule: string): Promise<readonly CheckpointRow[]>;
  noteRestore(row: Omit<RestoreRow, 'at'>): Promise<void>;
  /** Oldest first. */
  restores(run: string): Promise<readonly RestoreRow[]>;
}
