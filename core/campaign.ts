/**
 * Campaigns: what a probe, an evaluation, a training run or a pipeline is asked to do. Plain data, frozen in the
 * ledger when the campaign is claimed; its fingerprint covers all of it. What only changes speed (lanes) is not here.
 */

import type { Digest } from './artifacts.js';
import type { JsonObject } from './message.js';
import type { People } from './people.js';
import type { Sampling } from './policy.js';
import type { PriceTable } from './prices.js';
import type { ScriptedSettings } from './scripted.js';
import type { VllmSettings } from './serving/settings.js';
import type { AdvantageNormalisation } from './trainer.js';
import type { TrainerConfig } from './trainers/config.js';
import type { UpdateSettings } from './update-settings.js';

/** Where completions come from. Secrets are named by environment variable only. */
export type ModelRef =
  | {
      /** The trainer serves it: its base, or a checkpoint of a run. */
      readonly kind: 'trainer';
      readonly checkpoint: 'base' | { readonly run: string; readonly step: number | 'latest' };
    }
  | {
      readonly kind: 'chat';
      readonly baseUrl: string;
      readonly model: string;
      readonly apiKeyEnv: string | null;
      /** `auto` when absent: a stream where the server has one. */
      readonly stream?: boolean | 'auto' | undefined;
      /** Longest silence in the middle of a stream, ms. */
      readonly idleMs?: number | undefined;
      /** Whose limits its requests count against; absent: the provider that is named after its host. */
      readonly provider?: string | undefined;
    }
  | TokenModelRef
  | ServedModelRef
  | ({ readonly kind: 'scripted' } & ScriptedSettings);

/** A token endpoint that is not the trainer's (vLLM): ids in, ids and log-probabilities out, read by our own code. */
export interface TokenModelRef {
  readonly kind: 'token';
  readonly baseUrl: string;
  /** The name it is served under; every reply must carry it. */
  readonly model: string;
  readonly apiKeyEnv: string | null;
  /** Output format of the model family (core/interpret). */
  readonly format: string;
  /** Artifact with its `tokenizer.json` and `tokenizer_config.json`: `{"config", "tokenizer"}`. */
  readonly tokenizer: Digest;
  /** Variables of its chat template, such as `enable_thinking`; absent: the template's own defaults. */
  readonly templateOptions?: JsonObject | undefined;
  /** `skipped`: nobody proves that the server reads text as we do; said wherever the campaign is reported. */
  readonly parity?: 'required' | 'skipped' | undefined;
  readonly stream?: boolean | 'auto' | undefined;
  readonly idleMs?: number | undefined;
  readonly provider?: string | undefined;
}

/** A checkpoint of a run, behind a vLLM server that is started for it on a GPU host (docs/serving.md). */
export interface ServedModelRef {
  readonly kind: 'served';
  readonly checkpoint: { readonly run: string; readonly step: number | 'latest' };
  readonly settings: VllmSettings;
  /** Output format of the model family (core/interpret). */
  readonly format: string;
  readonly templateOptions?: JsonObject | undefined;
}

export interface EpisodeLimits {
  readonly tokensPerCall: number;
  readonly tokensPerEpisode: number;
  readonly promptTokens: number;
  readonly userTurns: number;
  readonly agentActions: number;
  readonly episodeMs: number;
  readonly messageMs: number;
  readonly toolMs: number;
}

interface EpisodesConfig {
  readonly suite: string;
  readonly suiteDigest: string;
  /** Frozen list; workflows speak of tasks by their index in it, so that payloads stay small. */
  readonly tasks: readonly string[];
  readonly seed: number;
  readonly sampling: Sampling;
  readonly limits: EpisodeLimits;
  readonly maxTries: number;
  /** Absent in campaigns from before it was part of them: those of the workers' environment. */
  readonly people?: People;
  /** Why its results are not comparable with published ones, as its suite said when it began; absent: they are. */
  readonly notComparable?: readonly string[];
}

/** A probe campaign or an evaluation: every task `repeat` times, ordinal = task index × repeat + repetition. */
export interface AttemptsConfig extends EpisodesConfig {
  readonly kind: 'probe' | 'eval';
  readonly model: ModelRef;
  readonly repeat: number;
  /** Scores an exhausted attempt 0 and says so wherever the score is shown. */
  readonly exhaustedAsFailed: boolean;
  /** A reference screen: the probe that begins when this one has ended, on the tasks that pass. */
  readonly screens?: ScreenFor;
  /** A probe that a reference screen went before. */
  readonly screenedBy?: ScreenRule & { readonly campaign: string };
}

/** A task passes the screen with so many clean reference runs, and so many of them successes. */
export interface ScreenRule {
  readonly minCleanRuns: number;
  readonly minSuccesses: number;
  /** Tasks that fail it are probed all the same. */
  readonly all: boolean;
}

export interface ScreenFor extends ScreenRule {
  readonly probe: string;
  readonly model: ModelRef;
  readonly repeat: number;
}

/** How one GRPO step fills its batch (design section 7). */
export interface StepShape {
  readonly groups: number;
  readonly groupSize: number;
  readonly maxRefillRounds: number;
  readonly maxGroups: number;
  readonly minInformative: number;
  readonly refill: 'round' | 'eager';
  readonly advantage: AdvantageNormalisation;
}

/** Checkpoints that stay: the newest `last` (0: all), and those of every `every`-th step (0: none of them). */
export interface Retention {
  readonly last: number;
  readonly every: number;
}

export interface TrainConfig extends EpisodesConfig {
  readonly kind: 'train';
  /** Absent: the trainer that the stack has, the embedded one of a local stack. */
  readonly trainer?: TrainerConfig;
  readonly from: 'base' | { readonly run: string; readonly step: number };
  /**
   * A fork: the first step trains on the recorded episodes of that step instead of sampling its own, and the order of
   * tasks goes on from there. Its weights are those that `from` names, which sampled them.
   */
  readonly reuse?: { readonly run: string; readonly step: number };
  readonly steps: number;
  readonly shape: StepShape;
  readonly plan: UpdateSettings;
  readonly saveEvery: number;
  /** Which checkpoints stay; the defaults when absent, so that a run's identity does not hang on them. */
  readonly keep?: Retention;
  readonly validateEvery: number;
  /** Held-out tasks of the split, and how often each is evaluated. */
  readonly validation: { readonly tasks: readonly string[]; readonly repeat: number };
}

/** Probe → select → evaluate the base → train → evaluate again → report. */
export interface PipelineConfig {
  readonly kind: 'pipeline';
  readonly suite: string;
  readonly suiteDigest: string;
  readonly seed: number;
  readonly probe: { readonly tasks: readonly string[]; readonly repeat: number };
  readonly selection: { readonly minCleanRuns: number; readonly retainBands: readonly string[] };
  readonly benchmark: { readonly tasks: readonly string[]; readonly repeat: number };
  readonly train: Omit<
    TrainConfig,
    'kind' | 'suite' | 'suiteDigest' | 'tasks' | 'seed' | 'sampling' | 'limits' | 'maxTries' | 'people'
  >;
  readonly sampling: Sampling;
  readonly limits: EpisodeLimits;
  readonly maxTries: number;
  readonly people?: People;
  readonly notComparable?: readonly string[];
  /** For the report's costs; null: tokens only. */
  readonly prices: PriceTable | null;
}

export type CampaignConfig = AttemptsConfig | TrainConfig | PipelineConfig;
