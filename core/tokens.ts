/**
 * The token record of one episode as a file: safetensors with `ids`, `bits` and `logprobs` (core/sampled-tokens.ts).
 * Records from before have `sampled`, a byte a token, and a log-probability for every token.
 */
import { Fault } from './faults.js';
import type { EpisodeTokens } from './policy.js';
import { decodeTensors, encodeTensors, type TensorFile, tensor } from './safetensors.js';
import { packSamples, unpackSamples } from './sampled-tokens.js';

export function encodeTokens({ ids, sampled, logprobs }: EpisodeTokens): Uint8Array {
  const packed = packSamples(sampled, logprobs);
  const tensors = new Map<string, Int32Array | Uint8Array | Float32Array>([
    ['ids', ids],
    ['logprobs', packed.logprobs],
    ['bits', packed.bits],
  ]);
  return encodeTensors({ tensors, metadata: { format: '2' } });
}

/** Throws `Fault('artifacts', code: 'corrupt')`. */
export function decodeTokens(bytes: Uint8Array): EpisodeTokens {
  const file = decodeTensors(bytes);
  const ids = tensor(file, 'ids', 'I32');
  if (file.metadata.format === '1') return { ids, ...unpacked(file, ids.length) };
  const packed = { bits: tensor(file, 'bits', 'U8'), logprobs: tensor(file, 'logprobs', 'F32') };
  return { ids, ...unpackSamples(packed, ids.length) };
}

/** As the first format has them. */
function unpacked(file: TensorFile, length: number): Pick<EpisodeTokens, 'sampled' | 'logprobs'> {
  const sampled = tensor(file, 'sampled', 'U8');
  const logprobs = tensor(file, 'logprobs', 'F32');
  if (sampled.length === length && logprobs.length === length) return { sampled, logprobs };
  const lengths = `${length}, ${sampled.length}, ${logprobs.length}`;
  throw new Fault('artifacts', `token record: lengths differ: ${lengths}`, { code: 'corrupt', retry: false });
}
