/** What a comparison of two runs says in sentences, on the terminal, on its page and in Markdown alike. */
import { plural, shortDigest } from '../format.js';
import type { FirstDifference, RunComparison } from './compare.js';

/** How they belong together, and what that gives each other's steps. */
export function relation({ fork, before, after }: RunComparison): string {
  if (!fork) return `${before} and ${after}, step beside step.`;
  return `${fork.fork} was forked from ${fork.from} before its step ${fork.step}: its step 1 stands beside step ${fork.step}.`;
}

/** Where they part, or that they never do. */
export function parting(comparison: RunComparison): string {
  const { firstDifference: found, steps, sameWeights } = comparison;
  const pairs = steps.filter(({ before, after }) => before && after).length;
  if (pairs === 0) return 'No step of the one stands beside a step of the other.';
  if (!found) return `All ${plural(pairs, 'step')} that both have are the same, number by number.`;
  return `They part at step ${placeText(found, comparison.after)}: ${found.what} ${valueText(found.before)} → ${valueText(found.after)}. ${sameWeights} of ${plural(pairs, 'pair')} end with the same weights.`;
}

/** `3`, or `3 (step 1 of train/fork)` where the second run counts otherwise. */
function placeText({ beforeStep, afterStep }: FirstDifference, after: string): string {
  return beforeStep === afterStep ? String(beforeStep) : `${beforeStep} (step ${afterStep} of ${after})`;
}

/** A digest by its first digits, anything else as it is. */
export function valueText(value: string): string {
  return value.startsWith('sha256:') ? shortDigest(value) : value;
}
