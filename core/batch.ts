/** One training batch as the trainer reads it (`docs/contracts.md`): episodes concatenated in key order. */
import type { Digest } from './artifacts.js';
import { UsageError } from './faults.js';
import type { EpisodeTokens } from './policy.js';
import { encodeTensors } from './safetensors.js';
import { packSamples } from './sampled-tokens.js';

export interface BatchEpisode extends EpisodeTokens {
  readonly key: string;
  /** One for the whole episode. */
  readonly advantage: number;
}

export interface Batch {
  readonly run: string;
  readonly step: number;
  readonly weightVersion: Digest;
  readonly episodes: readonly BatchEpisode[];
}

/** The same episodes give the same bytes, in whatever order they come. Throws `UsageError` for a key that occurs twice. */
export function encodeBatch({ run, step, weightVersion, episodes }: Batch): Uint8Array {
  const sorted = episodes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const twice = sorted.find((episode, i) => episode.key === sorted[i + 1]?.key);
  if (twice) throw new UsageError(`batch of step ${step}`, 'every key once', `${twice.key} twice`);
  const lengths = Int32Array.from(sorted, (episode) => episode.ids.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const ids = new Int32Array(total);
  const sampled = new Uint8Array(total);
  const logprobs = new Float32Array(total);
  let at = 0;
  for (const episode of sorted) {
    ids.set(episode.ids, at);
    sampled.set(episode.sampled, at);
    logprobs.set(episode.logprobs, at);
    at += episode.ids.length;
  }
  const advantages = Float32Array.from(sorted, (episode) => episode.advantage);
  const packed = packSamples(sampled, logprobs);
  const keys = JSON.stringify(sorted.map((episode) => episode.key));
  return encodeTensors({
    tensors: new Map<string, Int32Array | Uint8Array | Float32Array>([
      ['ids', ids],
      ['bits', packed.bits],
      ['logprobs', packed.logprobs],
      ['lengths', lengths],
      ['advantages', advantages],
    ]),
    metadata: { format: '2', run, step: String(step), keys, weightVersion },
  });
}
