/**
 * What workflows and activities say to each other: small, plain, JSON. Payload budgets are in `temporal.config.ts`.
 * Tasks are named by their index in the campaign's frozen list; keys, ids and settings are looked up by the activity.
 */

import type { StepShape } from './campaign.js';
import type { CampaignState } from './ledger.js';

/** What a workflow needs to know of its campaign. */
export interface CampaignPlan {
  readonly id: string;
  readonly state: CampaignState;
  readonly taskCount: number;
  /** Attempts a task; probe and eval only, else 0. */
  readonly repeat: number;
  readonly maxTries: number;
  /** True when completions come from the trainer, so that weights must be served first. */
  readonly servedByTrainer: boolean;
  /** True when its endpoint must read text as we do; absent in plans from before other servers than the trainer's. */
  readonly samplesTokens?: boolean;
  /** True when a server of ours is started for it on a GPU host; absent: none is. */
  readonly served?: boolean;
  /** True for a reference screen, which another probe follows; absent: it is none. */
  readonly screens?: boolean;
}

/** One try of one attempt, as a workflow asks for it. */
export interface EpisodeRef {
  readonly campaign: string;
  /** Index in the campaign's frozen task list. */
  readonly task: number;
  /** Repetition, or `round.group.member` in a training step. */
  readonly slot: string;
  readonly step?: number;
  readonly tryNumber: number;
  /** The try after which the attempt is exhausted. */
  readonly lastTry: number;
  /** Digest of the weights to sample from; absent for API models. */
  readonly weightVersion?: string;
}

/** Which attempts of a shard are still to be run. */
export interface ShardPlan {
  /** One bit an attempt, the first of the shard in the highest bit of the first hex digit; set: to be run. */
  readonly missing: string;
  readonly missingCount: number;
  /** Number of the next try: one more than the most tries that any of these attempts has had. */
  readonly firstTry: number;
}

/**
 * A group of an earlier execution of the same step: its round and rewards[member], null where the member was
 * exhausted or never ran. Its task is the candidate of the same position.
 */
export type PriorGroup = readonly [round: number, rewards: readonly (number | null)[]];

export interface StepStart {
  /** `done`: nothing to do. `sampled`: the batch is built. `sampling`: members are to be run. */
  readonly state: 'sampling' | 'sampled' | 'done';
  readonly batchDigest: string | null;
  /** Task indexes in the run's endless order from this step's cursor on, distinct, at most `maxGroups`. */
  readonly candidates: readonly number[];
  /** By group number; null for a group that was never planned. */
  readonly prior: readonly (PriorGroup | null)[];
  readonly firstTry: number;
}

export interface TrainPlan extends CampaignPlan {
  /** In all, extensions included. */
  readonly steps: number;
  readonly configuredSteps: number;
  readonly shape: StepShape;
  readonly saveEvery: number;
  readonly validateEvery: number;
  /** First step that is not done. */
  readonly nextStep: number;
}

/** Members of one group that are about to start. */
export interface PlannedGroup {
  readonly round: number;
  readonly group: number;
  readonly task: number;
  readonly members: readonly number[];
}

/** Wall time of each stage of a step, seconds. */
export interface StageSeconds {
  /** Refill rounds included. */
  readonly sampling: number;
  readonly batch: number;
  readonly update: number;
  readonly publish: number;
  readonly verify: number;
  readonly checkpoint: number;
}

export const PIPELINE_STAGES = [
  'probe',
  'select',
  'evaluate-base',
  'train',
  'evaluate-final',
  'report',
] as const;
export type PipelineStage = (typeof PIPELINE_STAGES)[number];
