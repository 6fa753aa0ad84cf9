/**
 * Advantages of one group (design section 7.4): how much better each member did than its siblings.
 * Pure; workflows import it.
 */
import type { AdvantageNormalisation } from './trainer.js';

/** Keeps the quotient finite; part of the reference recipe, so it is no option. */
const EPSILON = 1e-6;

/** True when no member can be told from another: such a group has no gradient. A group of one, or none, is one. */
export function isZeroVariance(rewards: readonly number[]): boolean {
  return rewards.every((reward) => reward === rewards[0]);
}

/**
 * advantages[member] of rewards[member]: reward minus the group's mean; `group-std` divides by the group's sample
 * standard deviation (n - 1) + 1e-6, `none` does not. A zero-variance group gives exact zeros, whatever the mean's
 * rounding. Throws `RangeError` for a reward that is not finite: such a row must never reach a batch.
 */
export function groupAdvantages(
  rewards: readonly number[],
  normalisation: AdvantageNormalisation = 'group-std',
): number[] {
  const bad = rewards.findIndex((reward) => !Number.isFinite(reward));
  if (bad >= 0)
    throw new RangeError(`reward of member ${bad}: expected a finite number, found ${rewards[bad]}`);
  if (isZeroVariance(rewards)) return rewards.map(() => 0);
  const mean = sum(rewards) / rewards.length;
  const centred = rewards.map((reward) => reward - mean);
  if (normalisation === 'none') return centred;
  const deviation = Math.sqrt(sum(centred.map((value) => value * value)) / (rewards.length - 1));
  return centred.map((value) => value / (deviation + EPSILON));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
