/**
 * What the command line and reports read of the ledger beyond what campaigns need: attempts with all their tries,
 * campaigns from above, speed, tokens and faults. Nothing here writes.
 */

import type { Digest } from './artifacts.js';
import type { FaultKind, FaultRecord } from './faults.js';
import type { CampaignKind } from './keys.js';
import type { AttemptRow, CampaignRow, CampaignState, Counts, GroupRow } from './ledger.js';
import type { ToolUse } from './metrics/conduct.js';
import type { EpisodeSummary, Termination, Usage, Verdict } from './outcome.js';

export const TRY_STATES = {
  running: 'it was begun and has not ended',
  clean: 'its result is the one that counts',
  superseded: 'it ended clean, but another try was first',
  system_error: 'it met a fault',
  lost: 'another try was begun before it ended: its worker is taken for dead',
} as const;

export type TryState = keyof typeof TRY_STATES;

export interface TryRow {
  readonly key: string;
  readonly tryNumber: number;
  readonly activityAttempt: number;
  /** Above 1 when the same try was run again after it had ended, e.g. after a workflow reset. */
  readonly execution: number;
  readonly state: TryState;
  readonly worker: string;
  /** Key of the attempt whose result this is: no episode was run for it. Null for every other try. */
  readonly reusedFrom: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly wallMs: number | null;
  readonly usage: Usage | null;
  readonly trajectory: Digest | null;
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly termination: Termination | null;
  readonly fault: FaultRecord | null;
}

/** Everything the ledger knows of one attempt. */
export interface AttemptDetail extends AttemptRow {
  readonly seed: string;
  readonly verdict: Verdict | null;
  readonly effectsDigest: Digest | null;
  readonly turns: number | null;
  readonly toolCalls: number | null;
  readonly toolErrors: number | null;
  readonly endedAt: string | null;
  /** In the order in which they began. */
  readonly history: readonly TryRow[];
}

export interface FoundAttempt extends AttemptRow {
  /**
   * Of the newest try that met a system error, also when a later one was clean. A try that a stop ended counts only
   * where `cancelled` was asked for.
   */
  readonly fault: FaultKind | null;
  readonly faultCode: string | null;
  readonly running: boolean;
  readonly endedAt: string | null;
}

export interface AttemptFilter {
  /** A campaign, or a pipeline: then all campaigns that it started. */
  readonly campaign?: string;
  readonly taskId?: string;
  readonly step?: number;
  /** `system_error`: at least one try met one, whatever came after; a stop is none. */
  readonly outcome?: 'passed' | 'failed' | 'system_error' | 'pending' | 'exhausted' | 'running';
  readonly termination?: Termination;
  readonly fault?: FaultKind;
  /** 100 when absent. */
  readonly limit?: number;
  readonly offset?: number;
}

export interface CampaignFilter {
  readonly kind?: CampaignKind;
  readonly state?: CampaignState;
  readonly parent?: string;
  /** 100 when absent. */
  readonly limit?: number;
}

export interface CampaignSummary extends Omit<CampaignRow, 'config' | 'result'> {
  readonly counts: Omit<Counts, 'faults' | 'stopped'>;
}

export interface Progress {
  /** Attempts that ended (clean or exhausted) within the window, and per minute. */
  readonly finished: number;
  readonly perMinute: number;
  /** Tries that run now. */
  readonly running: number;
  readonly pending: number;
  /** When the last attempt ended, or null. */
  readonly lastEndedAt: string | null;
}

export interface UsageTotals {
  /** What the results that count have used; what was reused from another attempt was paid there. */
  readonly clean: Usage;
  /** What tries have used whose result does not count: system errors, stopped and superseded ones. Paid all the same. */
  readonly wasted: Usage;
  readonly cleanTries: number;
  readonly wastedTries: number;
}

/** System-error tries of one task, by where they fell; those that a stop ended are left out. */
export interface FaultCount {
  readonly taskId: string;
  readonly kind: FaultKind;
  readonly code: string | null;
  readonly duringToolCall: boolean;
  readonly tries: number;
}

/** Reads for the command line and reports. `campaign` may be a pipeline: then it means all that it started. */
export interface LedgerReads {
  /** Newest first. */
  campaigns(filter?: CampaignFilter): Promise<readonly CampaignSummary[]>;
  /** In plan order. */
  findAttempts(filter: AttemptFilter): Promise<readonly FoundAttempt[]>;
  attempt(key: string): Promise<AttemptDetail | undefined>;
  tries(key: string): Promise<readonly TryRow[]>;
  /** What `beginTry` answers for an attempt that is clean; undefined when it is not. */
  cleanSummary(key: string): Promise<EpisodeSummary | undefined>;
  /** The window is 60 seconds unless given. */
  progress(campaign: string, windowSeconds?: number): Promise<Progress>;
  usage(campaign: string): Promise<UsageTotals>;
  faultCounts(campaign: string): Promise<readonly FaultCount[]>;
  /** Tool calls of the clean results, and how many failed; null when there is no clean result. */
  toolUse(campaign: string): Promise<ToolUse | null>;
  /** Groups of all steps of a run, by step, round, group. */
  allGroups(run: string): Promise<readonly (GroupRow & { readonly step: number })[]>;
  sandboxCounts(
    campaign: string,
  ): Promise<Readonly<Record<'intended' | 'created' | 'released' | 'reaped', number>>>;
}
