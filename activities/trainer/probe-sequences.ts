/** Fixed token sequences on which sampler and trainer are compared: the beginnings of a batch's first episodes. */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { recordsOf } from '../../core/batch.js';
import { decodeTensors, tensor } from '../../core/safetensors.js';
import { readTokenRecord } from '../campaign/token-record.js';

const EPISODES = 2;
const MAX_TOKENS = 256;

/** sequences[s][t]: token ids. Throws `Fault('artifacts')` for a batch or record that cannot be read. */
export async function probeSequences(artifacts: ArtifactStore, batchDigest: Digest): Promise<number[][]> {
  const batch = await artifacts.get(batchDigest);
  const records = recordsOf(batch);
  if (records === undefined) return firstOf(batch);
  const sequences: number[][] = [];
  for (const { key, record } of records.slice(0, EPISODES)) {
    const { ids } = await readTokenRecord(artifacts, key, record);
    sequences.push([...ids.subarray(0, MAX_TOKENS)]);
  }
  return sequences;
}

function firstOf(batch: Uint8Array): number[][] {
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
