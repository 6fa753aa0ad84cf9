/** Fixed token sequences on which sampler and trainer are compared: the beginnings of a batch's first episodes. */
import { decodeTensors, tensor } from '../../core/safetensors.js';

const EPISODES = 2;
const MAX_TOKENS = 256;

/** sequences[s][t]: token ids. */
export function probeSequences(batch: Uint8Array): number[][] {
  const file = decodeTensors(batch);
  const ids = tensor(file, 'ids', 'I32');
  const sequences: number[][] = [];
  let start = 0;
  for (const length of tensor(file, 'lengths', 'I32').subarray(0, EPISODES)) {
    sequences.push([...ids.subarray(start, start + Math.min(length, MAX_TOKENS))]);
    start += length;
  }
  return sequences;
}
