/**
 * Batches of the suite's own: episodes sampled from the endpoint's base on prompts of arbitrary token ids, in groups
 * with invented rewards, written where the trainer reads them. Lengths differ, so that a mean over tokens and a mean
 * over episodes differ too.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { groupAdvantages } from '../../../core/advantages.js';
import type { Digest } from '../../../core/artifacts.js';
import {
  type BatchEpisode,
  encodeBatch,
  encodeBatchIndex,
  type IndexedEpisode,
  indexed,
} from '../../../core/batch.js';
import { type RandomStream, randomStream } from '../../../core/random.js';
import { encodeTokens } from '../../../core/tokens.js';
import type { Capabilities } from './capabilities.js';
import { sample } from './sampling.js';

const GROUPS = 2;
const MEMBERS = 4;
const SHORTEST_PROMPT = 4;

export interface WrittenBatch {
  readonly path: string;
  readonly digest: Digest;
  readonly episodes: readonly BatchEpisode[];
  /** Where its token records lie, by digest; absent: it holds its tokens itself. */
  readonly recordPaths?: Readonly<Record<Digest, string>>;
}

export type WrittenIndex = Required<WrittenBatch>;

export interface Source {
  readonly endpoint: string;
  readonly weightVersion: Digest;
  readonly capabilities: Capabilities;
  readonly signal: AbortSignal;
}

/** Episodes of one to three turns: prompt, sampled, prompt, sampled ... The same number gives the same prompts and seeds. */
export async function sampleEpisodes(source: Source, number: number): Promise<BatchEpisode[]> {
  const episodes: BatchEpisode[] = [];
  for (let group = 0; group < GROUPS; group++) {
    // rewards[member]: neither all equal nor the same in each group.
    const rewards = Array.from({ length: MEMBERS }, (_, member) => (member % (group + 2) === 0 ? 1 : 0));
    const advantages = groupAdvantages(rewards);
    for (let member = 0; member < MEMBERS; member++) {
      const key = `batch-${number} · invented:${group} · 0.${group}.${member}`;
      episodes.push({
        key,
        advantage: advantages[member]!,
        ...(await sampleEpisode(source, key, 1 + (member % 3))),
      });
    }
  }
  return episodes;
}

async function sampleEpisode(
  { endpoint, weightVersion, capabilities, signal }: Source,
  key: string,
  turns: number,
) {
  const random = randomStream('conformance', key);
  const [ids, sampled, logprobs]: [number[], number[], number[]] = [[], [], []];
  const longest = Math.min(24, Math.floor(capabilities.context / 8));
  for (let turnNumber = 0; turnNumber < turns; turnNumber++) {
    const prompt = arbitraryIds(random, SHORTEST_PROMPT + random.below(longest), capabilities.vocabulary);
    ids.push(...prompt);
    sampled.push(...prompt.map(() => 0));
    logprobs.push(...prompt.map(() => 0));
    const maxTokens = 2 + random.below(longest);
    const reply = await sample(
      endpoint,
      { weightVersion, prompt: ids, maxTokens, seed: random.uint32() },
      signal,
    );
    ids.push(...reply.ids);
    sampled.push(...reply.ids.map(() => 1));
    logprobs.push(...reply.logprobs);
  }
  return {
    ids: Int32Array.from(ids),
    sampled: Uint8Array.from(sampled),
    logprobs: Float32Array.from(logprobs),
  };
}

export function arbitraryIds(random: RandomStream, length: number, vocabulary: number): number[] {
  return Array.from({ length }, () => random.below(vocabulary));
}

/** Writes the batch under its digest. Same episodes, same bytes. */
export async function writeBatch(
  folder: string,
  weightVersion: Digest,
  episodes: readonly BatchEpisode[],
): Promise<WrittenBatch> {
  const bytes = encodeBatch({ run: 'conformance', step: 1, weightVersion, episodes });
  return { ...(await writeUnderDigest(folder, 'batch', bytes)), episodes };
}

/** Writes each token record, and the batch that refers to them. */
export async function writeIndex(
  folder: string,
  weightVersion: Digest,
  episodes: readonly BatchEpisode[],
): Promise<WrittenIndex> {
  const recordPaths: Record<Digest, string> = {};
  const members: IndexedEpisode[] = [];
  for (const episode of episodes) {
    const written = await writeUnderDigest(folder, 'tokens', encodeTokens(episode));
    recordPaths[written.digest] = written.path;
    members.push(indexed(episode, written.digest, episode));
  }
  const bytes = encodeBatchIndex({ run: 'conformance', step: 1, weightVersion, episodes: members });
  return { ...(await writeUnderDigest(folder, 'index', bytes)), episodes, recordPaths };
}

export async function writeUnderDigest(
  folder: string,
  what: string,
  bytes: Uint8Array,
): Promise<{ readonly path: string; readonly digest: Digest }> {
  const hex = createHash('sha256').update(bytes).digest('hex');
  const file = path.join(folder, `${what}-${hex}.safetensors`);
  await writeFile(file, bytes);
  return { path: file, digest: `sha256:${hex}` };
}
