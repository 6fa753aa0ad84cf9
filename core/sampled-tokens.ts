/**
 * Which tokens of a buffer were sampled, and with what log-probability, as files keep it: one bit a token, and numbers
 * for the sampled ones alone. Half of an episode is observations, which have no log-probability.
 */
import { Fault } from './faults.js';

export interface PackedSamples {
  /** Bit i % 8 (the lowest first) of byte i / 8 is 1 where token i was sampled. */
  readonly bits: Uint8Array;
  /** Of the sampled tokens, in order. */
  readonly logprobs: Float32Array;
}

/** `sampled` and `logprobs` of equal length; log-probabilities of what was not sampled are dropped. */
export function packSamples(sampled: Uint8Array, logprobs: Float32Array): PackedSamples {
  const bits = new Uint8Array(Math.ceil(sampled.length / 8));
  let count = 0;
  for (let i = 0; i < sampled.length; i++) {
    if (sampled[i] === 0) continue;
    bits[i >> 3]! |= 1 << (i & 7);
    count++;
  }
  const kept = new Float32Array(count);
  let at = 0;
  for (let i = 0; i < sampled.length; i++) if (sampled[i] !== 0) kept[at++] = logprobs[i]!;
  return { bits, logprobs: kept };
}

/** Log-probabilities of what was not sampled are 0. Throws `Fault('artifacts', code: 'corrupt')`. */
export function unpackSamples(
  { bits, logprobs }: PackedSamples,
  length: number,
): { readonly sampled: Uint8Array; readonly logprobs: Float32Array } {
  const corrupt = (found: string): Fault =>
    new Fault('artifacts', `samples of ${length} tokens: ${found}`, { code: 'corrupt', retry: false });
  if (bits.length !== Math.ceil(length / 8)) throw corrupt(`${bits.length} bytes of bits`);
  const sampled = new Uint8Array(length);
  const all = new Float32Array(length);
  let at = 0;
  for (let i = 0; i < length; i++) {
    if ((bits[i >> 3]! & (1 << (i & 7))) === 0) continue;
    sampled[i] = 1;
    all[i] = logprobs[at++] ?? 0;
  }
  if (at !== logprobs.length) throw corrupt(`${at} bits for ${logprobs.length} log-probabilities`);
  return { sampled, logprobs: all };
}
