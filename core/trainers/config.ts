/** The trainer of a run as its configuration has it: which one, of which model, on which machines. Frozen with the run. */
import type { VllmSettings } from '../serving/settings.js';

export type TrainerConfig = TorchConfig | VerlConfig;

/** One process beside PyTorch, on one host. */
export interface TorchConfig {
  readonly kind: 'torch';
  /** Folder of the model. */
  readonly model: string;
  /** Output format of the model's family (core/interpret). */
  readonly format: string;
  /** Host of the process; null: where the run's stack is. */
  readonly host: string | null;
  readonly dtype: 'float32' | 'bfloat16';
  readonly gradientCheckpointing: boolean;
  /** Null: all parameters are trained. */
  readonly lora: { readonly rank: number; readonly alpha: number } | null;
  /** How vLLM serves its weights, where it is not by its defaults; null: the trainer samples by itself. */
  readonly serving: Partial<VllmSettings> | null;
}

export interface ClusterHost {
  /** Names its queue, too. */
  readonly name: string;
  readonly gpus: readonly number[];
}

/** A file of an installed package, by its SHA-256 in hex: what makes Verl the patched one. */
export interface PinnedFile {
  readonly file: string;
  readonly sha256: string;
}

/** Verl's own trainer over a cluster, as one supervised job. */
export interface VerlConfig {
  readonly kind: 'verl';
  readonly model: string;
  readonly format: string;
  /** SHA-256 over the model folder as `--dry-run` prints it; null: whatever lies there when the run starts. */
  readonly modelDigest: string | null;
  /** The first one starts the job. */
  readonly hosts: readonly ClusterHost[];
  /** Python with Verl and vLLM, on every host. */
  readonly python: string;
  /** Folder that all hosts share; the run's own. */
  readonly checkpoints: string;
  /** Verl's own data sets, on every host. */
  readonly data: { readonly train: string; readonly validation: string };
  readonly agentLoop: { readonly config: string; readonly name: string; readonly workers: number };
  /** Null: the agent loop brings the reward. */
  readonly reward: { readonly file: string; readonly function: string } | null;
  readonly strategy: 'fsdp' | 'fsdp2';
  readonly parallel: { readonly sequence: number; readonly rolloutTensor: number };
  readonly memory: {
    /** Share of each GPU for vLLM's weights and cache while it samples. */
    readonly gpuUtilisation: number;
    readonly offloadParameters: boolean;
    readonly offloadOptimizer: boolean;
    readonly gradientCheckpointing: boolean;
  };
  /** Prompt and response together, tokens. */
  readonly modelLength: number;
  /** Tokens of a micro-batch on one GPU. */
  readonly tokensPerGpu: number;
  readonly rollout: { readonly maxSequences: number; readonly maxBatchedTokens: number };
  readonly pins: {
    readonly packages: Readonly<Record<string, string>>;
    readonly files: readonly PinnedFile[];
  };
  /** Times that the job is started again from its newest checkpoint that verifies. */
  readonly restarts: number;
  /** No new metrics for so long, ms, from a start on: it hangs. Absent: the default. */
  readonly silentMs?: number;
  /** Further settings of Verl by their full names; none that another part of the run file decides. */
  readonly overrides: Readonly<Record<string, string | number | boolean | null>>;
  /** How its checkpoints are served, where it is not by the defaults. */
  readonly serving: Partial<VllmSettings>;
}
