/**
 * One training batch as the trainer reads it (`docs/contracts.md`), episodes in key order: with the tokens in it
 * (format 2), or as an index that names each episode's token record by its digest (format 3).
 */
import type { Digest } from './artifacts.js';
import { Fault, UsageError } from './faults.js';
import type { EpisodeTokens } from './policy.js';
import { decodeMetadata, encodeTensors, type TensorArray } from './safetensors.js';
import { packSamples } from './sampled-tokens.js';

/** What is written today. The first format is still read. */
export type BatchFormat = 2 | 3;

/** Of trainers that do not say what they read (`capabilities.batchFormats`). */
export const SELF_CONTAINED: BatchFormat = 2;

interface Member {
  readonly key: string;
  /** One for the whole episode. */
  readonly advantage: number;
}

export interface BatchEpisode extends Member, EpisodeTokens {}

export interface IndexedEpisode extends Member {
  /** Of its token record (core/tokens.ts). */
  readonly record: Digest;
  /** Tokens in the record, and how many of them were sampled. */
  readonly length: number;
  readonly sampled: number;
}

interface Batch<Episode extends Member> {
  readonly run: string;
  readonly step: number;
  readonly weightVersion: Digest;
  readonly episodes: readonly Episode[];
}

/** The same episodes give the same bytes, in whatever order they come. Throws `UsageError` for a key that occurs twice. */
export function encodeBatch(batch: Batch<BatchEpisode>): Uint8Array {
  const sorted = inKeyOrder(batch);
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
  const packed = packSamples(sampled, logprobs);
  return encode(batch, sorted, { format: '2' }, [
    ['ids', ids],
    ['bits', packed.bits],
    ['logprobs', packed.logprobs],
    ['lengths', lengths],
  ]);
}

/**
 * As `encodeBatch`, by reference: records are named by their bytes, so the digest of an index fixes all that is
 * trained on.
 */
export function encodeBatchIndex(batch: Batch<IndexedEpisode>): Uint8Array {
  const sorted = inKeyOrder(batch);
  const records = JSON.stringify(sorted.map(({ record }) => record));
  return encode(batch, sorted, { format: '3', records }, [
    ['lengths', Int32Array.from(sorted, ({ length }) => length)],
    ['sampled', Int32Array.from(sorted, ({ sampled }) => sampled)],
  ]);
}

/**
 * The token records that a batch refers to, in key order; undefined for one that holds its tokens itself.
 * Throws `Fault('artifacts', code: 'corrupt')` for bytes that are no batch.
 */
export function recordsOf(bytes: Uint8Array): readonly Pick<IndexedEpisode, 'key' | 'record'>[] | undefined {
  const { format, keys, records } = decodeMetadata(bytes);
  if (format !== '3') return undefined;
  const [names, digests] = [listOf(keys, 'keys'), listOf(records, 'records')];
  if (names.length === digests.length) return names.map((key, at) => ({ key, record: digests[at]! }));
  throw corrupt(`${names.length} keys, ${digests.length} records`);
}

/** An episode as an index has it; `tokens` is what its record holds. */
export function indexed(
  { key, advantage }: Member,
  record: Digest,
  { ids, sampled }: Pick<EpisodeTokens, 'ids' | 'sampled'>,
): IndexedEpisode {
  const count = sampled.reduce((sum, one) => sum + (one === 0 ? 0 : 1), 0);
  return { key, advantage, record, length: ids.length, sampled: count };
}

/** The format that a trainer is given, by its `capabilities`. */
export function batchFormatFor({ batchFormats }: Readonly<Record<string, unknown>>): BatchFormat {
  return Array.isArray(batchFormats) && batchFormats.includes(3) ? 3 : SELF_CONTAINED;
}

function inKeyOrder<Episode extends Member>({ step, episodes }: Batch<Episode>): readonly Episode[] {
  const sorted = episodes.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const twice = sorted.find((episode, i) => episode.key === sorted[i + 1]?.key);
  if (twice) throw new UsageError(`batch of step ${step}`, 'every key once', `${twice.key} twice`);
  return sorted;
}

function encode<Episode extends Member>(
  { run, step, weightVersion }: Batch<Episode>,
  sorted: readonly Member[],
  own: { readonly format: string; readonly records?: string },
  tensors: readonly (readonly [string, TensorArray])[],
): Uint8Array {
  const advantages = Float32Array.from(sorted, ({ advantage }) => advantage);
  const keys = JSON.stringify(sorted.map(({ key }) => key));
  const { format, ...others } = own;
  return encodeTensors({
    tensors: new Map([...tensors, ['advantages', advantages]]),
    metadata: { format, run, step: String(step), keys, weightVersion, ...others },
  });
}

function listOf(text: string | undefined, name: string): readonly string[] {
  let found: unknown;
  try {
    found = JSON.parse(text ?? '');
  } catch {
    found = undefined;
  }
  if (Array.isArray(found) && found.every((item) => typeof item === 'string')) return found as string[];
  throw corrupt(`its ${name} are no list of names`);
}

function corrupt(found: string): Fault {
  return new Fault('artifacts', `batch: ${found}`, { code: 'corrupt', retry: false });
}
