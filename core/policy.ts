/**
 * A policy: where completions come from. One agent loop drives both kinds:
 * `token` endpoints (ids in, ids and log-probabilities out; trainable) and `chat` endpoints (API models).
 */
import type { AssistantMessage, Message, ToolSpec } from './message.js';

/** Sampling settings; top-k and top-p as the engine understands them. */
export interface Sampling {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
}

export interface PolicyRequest {
  readonly systemMessages: readonly string[];
  readonly tools: readonly ToolSpec[];
  /** Seed of the episode; the same on every try. Turn t samples with hash(seed, t). */
  readonly seed: string;
  /** The episode's task, for scripted policies that play from a script. Never part of a prompt. */
  readonly taskId?: string;
  readonly sampling: Sampling;
  /** Prompt tokens of the first turn; longer throws `Fault('policy', code: 'prompt_too_long', retry: false)`. */
  readonly maxPromptTokens: number;
}

/** What one sampled turn leaves behind for training. Lengths are equal; log-probabilities are of the full softmax at temperature 1. */
export interface SampledTokens {
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
}

export interface PolicyTurn {
  readonly message: AssistantMessage;
  /** `length`: cut off; its calls must not be executed. */
  readonly finishReason: 'stop' | 'length';
  /** Typed problems of interpretation, told to the model as an observation. */
  readonly problems: readonly string[];
  /** Calls that must not be executed, by call id, with the reason that the model is told. */
  readonly refused?: ReadonlyMap<string, string>;
  /** Raw text as sampled, for `verify parity`. */
  readonly raw: string;
  readonly promptTokens: number;
  readonly sampledTokens: number;
  /** Digest of the weights that these tokens were sampled from; undefined for API models. */
  readonly weightVersion: string | undefined;
}

/** The exact token buffer of an episode: prompts, deltas and samples in order. Undefined for chat policies. */
export interface EpisodeTokens {
  readonly ids: Int32Array;
  /** 1 where the token was sampled by the policy, else 0. Same length as `ids`. */
  readonly sampled: Uint8Array;
  /** Sampler's log-probability where sampled, else 0. Same length as `ids`. */
  readonly logprobs: Float32Array;
}

export interface TurnLimits {
  /** Sampled tokens of this turn. */
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /**
   * Tokens of this turn so far, as they stream; from 0 again where a request is repeated. Only streamed turns call it;
   * chat endpoints count pieces, about one a token.
   */
  readonly onProgress?: ((tokens: number) => void) | undefined;
}

export interface PolicySession {
  /** What a turn is waited for from, as messages name it; absent where nothing is asked over a network. */
  readonly place?: string;
  /**
   * One turn after `observations` (user text or tool results since the last turn). Throws `Fault('policy' | 'deadline')`;
   * with code `context_full` when the conversation has outgrown the model's context: that is the agent's own limit.
   */
  turn(observations: readonly Message[], limits: TurnLimits): Promise<PolicyTurn>;
  tokens(): EpisodeTokens | undefined;
}

export interface Policy {
  readonly kind: 'token' | 'chat' | 'scripted';
  begin(request: PolicyRequest): Promise<PolicySession>;
}
