/**
 * The numbers of an update, computed again from the batch and from log-probabilities that the trainer's probe gives.
 *
 * The old policy is the weights at the start of the update, so every importance ratio is exactly 1 and the clipped
 * loss of a token is minus its advantage, whatever the clip; the mean is over the sampled tokens of all episodes.
 */
import type { BatchEpisode } from '../../../core/batch.js';

/** probed[e][t]: log-probability of token t + 1 of episode e, as `probe` gives it. */
export type Probed = readonly (readonly number[])[];

export interface TokenNumbers {
  readonly tokens: number;
  readonly loss: number;
  /** The same with each episode counting alike: what a wrong normalisation would report. */
  readonly episodeMeanLoss: number;
}

/** As the trainer sees them: an advantage is stored as float32. */
export function tokenNumbers(episodes: readonly BatchEpisode[]): TokenNumbers {
  let [sum, tokens, means] = [0, 0, 0];
  for (const episode of episodes) {
    const count = sampledPositions(episode).length;
    sum -= Math.fround(episode.advantage) * count;
    means -= Math.fround(episode.advantage);
    tokens += count;
  }
  return { tokens, loss: sum / tokens, episodeMeanLoss: means / episodes.length };
}

export interface Mismatch {
  readonly mean: number;
  readonly max: number;
  readonly share: number;
  /** Least distance of a ratio from the edges 0.9 and 1.1: when it is tiny, rounding decides the share. */
  readonly margin: number;
}

/** Between the log-probabilities of the batch (the sampler's) and the trainer's. */
export function mismatch(episodes: readonly BatchEpisode[], probed: Probed): Mismatch {
  let [sum, max, outside, tokens, margin] = [0, 0, 0, 0, Number.POSITIVE_INFINITY];
  eachSampled(episodes, (episode, position, index) => {
    const difference = probed[index]![position - 1]! - episode.logprobs[position]!;
    const ratio = Math.exp(difference);
    sum += Math.abs(difference);
    max = Math.max(max, Math.abs(difference));
    outside += ratio < 0.9 || ratio > 1.1 ? 1 : 0;
    margin = Math.min(margin, Math.abs(ratio - 0.9), Math.abs(ratio - 1.1));
    tokens++;
  });
  return { mean: sum / tokens, max, share: outside / tokens, margin };
}

export interface ImportanceNumbers {
  readonly loss: number;
  /** Mean weight. */
  readonly mean: number;
  /** Share of tokens at the cap. */
  readonly capped: number;
  /** Least distance of a ratio from the cap. */
  readonly margin: number;
}

/** Under truncated importance weights: every ratio to the old policy is 1, so a token's loss is minus weight × advantage. */
export function importanceNumbers(
  episodes: readonly BatchEpisode[],
  probed: Probed,
  cap: number,
): ImportanceNumbers {
  let [loss, sum, capped, tokens, margin] = [0, 0, 0, 0, Number.POSITIVE_INFINITY];
  eachSampled(episodes, (episode, position, index) => {
    const ratio = Math.exp(probed[index]![position - 1]! - episode.logprobs[position]!);
    const weight = Math.min(ratio, cap);
    loss -= Math.fround(episode.advantage) * weight;
    sum += weight;
    capped += ratio >= cap ? 1 : 0;
    margin = Math.min(margin, Math.abs(ratio - cap));
    tokens++;
  });
  return { loss: loss / tokens, mean: sum / tokens, capped: capped / tokens, margin };
}

/** Mean of exp(d) - d - 1 with d = base - ours on sampled tokens (Schulman's k3), nats a token. */
export function klToBase(episodes: readonly BatchEpisode[], ours: Probed, base: Probed): number {
  let [sum, tokens] = [0, 0];
  eachSampled(episodes, (_episode, position, index) => {
    const difference = base[index]![position - 1]! - ours[index]![position - 1]!;
    sum += Math.exp(difference) - difference - 1;
    tokens++;
  });
  return sum / tokens;
}

/** The clipped loss at other weights: ratios against the log-probabilities `before`. */
export function clippedLoss(
  episodes: readonly BatchEpisode[],
  before: Probed,
  after: Probed,
  { clip, dualClip }: { readonly clip: number; readonly dualClip: number },
): number {
  let [sum, tokens] = [0, 0];
  eachSampled(episodes, (episode, position, index) => {
    const advantage = Math.fround(episode.advantage);
    const ratio = Math.exp(after[index]![position - 1]! - before[index]![position - 1]!);
    const bounded = Math.min(Math.max(ratio, 1 - clip), 1 + clip);
    const loss = Math.max(-advantage * ratio, -advantage * bounded);
    sum += advantage < 0 ? Math.min(loss, -advantage * dualClip) : loss;
    tokens++;
  });
  return sum / tokens;
}

/** On every third token half a nat more or less, far outside what sampler and trainer may differ by; 0.02 elsewhere. */
export function shifted(episode: BatchEpisode): BatchEpisode {
  const logprobs = episode.logprobs.map((value, position) => {
    if (episode.sampled[position] !== 1) return value;
    if (position % 3 > 0) return value + 0.02;
    return value + (position % 2 === 0 ? 0.5 : -0.5);
  });
  return { ...episode, logprobs };
}

export function sequencesOf(episodes: readonly BatchEpisode[]): number[][] {
  return episodes.map(({ ids }) => [...ids]);
}

function eachSampled(
  episodes: readonly BatchEpisode[],
  visit: (episode: BatchEpisode, position: number, index: number) => void,
): void {
  for (const [index, episode] of episodes.entries()) {
    for (const position of sampledPositions(episode)) visit(episode, position, index);
  }
}

function sampledPositions({ sampled }: BatchEpisode): number[] {
  return [...sampled.keys()].filter((position) => sampled[position] === 1);
}
