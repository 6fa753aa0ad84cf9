/** The token record of one episode as a file: safetensors with `ids`, `sampled`, `logprobs`. */
import { Fault } from './faults.js';
import type { EpisodeTokens } from './policy.js';
import { decodeTensors, encodeTensors, tensor } from './safetensors.js';

export function encodeTokens({ ids, sampled, logprobs }: EpisodeTokens): Uint8Array {
  const tensors = new Map<string, Int32Array | Uint8Array | Float32Array>([
    ['ids', ids],
    ['logprobs', logprobs],
    ['sampled', sampled],
  ]);
  return encodeTensors({ tensors, metadata: { format: '1' } });
}

/** Throws `Fault('artifacts', code: 'corrupt')`. */
export function decodeTokens(bytes: Uint8Array): EpisodeTokens {
  const file = decodeTensors(bytes);
  const ids = tensor(file, 'ids', 'I32');
  const sampled = tensor(file, 'sampled', 'U8');
  const logprobs = tensor(file, 'logprobs', 'F32');
  if (sampled.length !== ids.length || logprobs.length !== ids.length) {
    const lengths = `${ids.length}, ${sampled.length}, ${logprobs.length}`;
    throw new Fault('artifacts', `token record: lengths differ: ${lengths}`, {
      code: 'corrupt',
      retry: false,
    });
  }
  return { ids, sampled, logprobs };
}
