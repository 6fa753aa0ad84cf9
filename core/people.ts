/**
 * Who plays the simulated user and who judges: models, by their settings and by what they are told. Both decide
 * results, so both are part of a campaign's configuration.
 */
import type { Digest } from './artifacts.js';

export interface PersonRef {
  /**
   * Base URL, ending in `/v1`. Null: wherever the workers are told that it is (of the local stack, the built-in rules),
   * which may be another place tomorrow; the model there must still be this one.
   */
  readonly baseUrl: string | null;
  readonly model: string;
  /** Name of the environment variable that holds the key; null where none is needed, or the workers know it. */
  readonly apiKeyEnv: string | null;
  readonly temperature: number;
  /** A longer answer is a fault, never half a message. */
  readonly maxTokens: number;
  /** Whose limits its requests count against; absent: the provider that is named after its host. */
  readonly provider?: string;
}

export interface People {
  /** Of all that both are told beside a task's own text (core/prompts.ts). */
  readonly prompts: Digest;
  readonly user: PersonRef;
  readonly judge: PersonRef;
}
