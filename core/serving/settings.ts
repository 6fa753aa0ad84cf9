/** How a vLLM server is started: what an operator may choose. Defaults are `VLLM` of temporal.config.ts, the reference's. */

export const DTYPES = ['auto', 'bfloat16', 'float16', 'float32'] as const;

export interface VllmSettings {
  /** GPUs that share one copy of the weights. */
  readonly tensorParallel: number;
  readonly dtype: (typeof DTYPES)[number];
  /** Tokens that a conversation may have, prompt and samples together. */
  readonly maxModelLength: number;
  /** Share of each GPU's memory for weights and cache. Too high: the server dies of it under load; too low: few sequences fit. */
  readonly memoryUtilisation: number;
  /** Sequences in one batch; further requests wait. */
  readonly maxSequences: number;
  /** Tokens of one scheduler step. */
  readonly maxBatchedTokens: number;
  /** For chat requests only: token endpoints are read by our own code. Null: none. */
  readonly reasoningParser: string | null;
  readonly toolCallParser: string | null;
  readonly prefixCaching: boolean;
  readonly chunkedPrefill: boolean;
  /** Leaves the image and video parts of a multimodal model out. */
  readonly languageModelOnly: boolean;
  /** Further flags as they stand, e.g. `["--enforce-eager"]`; none that is set above, none that holds a secret. */
  readonly extraArguments: readonly string[];
}
