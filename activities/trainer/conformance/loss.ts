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
