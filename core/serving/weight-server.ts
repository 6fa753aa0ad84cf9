/**
 * The way from a trainer that writes weights to a server that samples from them: what `publish` and `serve` hand over.
 * A trainer that samples by itself needs none.
 */
import type { ServedWeights } from './servings.js';

export interface WeightServer {
  /**
   * The weights are samplable at the endpoint (an OpenAI base URL, ending in `/v1`), under `weights.weightVersion`,
   * when it returns. Idempotent; other weights under the same name replace those before. Throws `Fault('trainer')`
   * with a code of docs/serving.md when no server can be brought to it.
   */
  load(name: string, weights: ServedWeights, signal: AbortSignal): Promise<{ readonly endpoint: string }>;
  /** Nobody samples from what is served under this name any more: its GPUs are free. Idempotent. */
  unload(name: string, signal: AbortSignal): Promise<void>;
}
