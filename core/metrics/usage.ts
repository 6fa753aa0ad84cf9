/** Tokens, calls and dollars of a campaign, and how its conversations ended. */
import type { Termination, Usage } from '../outcome.js';
import { costOf, type Price } from '../prices.js';
import type { CostReport } from '../report-data.js';

export const NO_USAGE: Usage = {
  policyPromptTokens: 0,
  policySampledTokens: 0,
  policyCalls: 0,
  otherPromptTokens: 0,
  otherSampledTokens: 0,
  otherCalls: 0,
};

/** The usage of a policy of which nothing but its own tokens is known. */
export function policyUsage(tokens: {
  readonly prompt: number;
  readonly sampled: number;
  readonly calls: number;
}): Usage {
  return {
    ...NO_USAGE,
    policyPromptTokens: tokens.prompt,
    policySampledTokens: tokens.sampled,
    policyCalls: tokens.calls,
  };
}

export function totalUsage(usages: Iterable<Usage | null>): Usage {
  const total = { ...NO_USAGE } as { -readonly [field in keyof Usage]: number };
  for (const usage of usages) {
    if (usage === null) continue;
    for (const field of Object.keys(total) as (keyof Usage)[]) total[field] += usage[field];
  }
  return total;
}

/** The cost of a whole campaign, and what one success and one dependable task (k/k) cost of it; null of none. */
export function costReport(
  usage: Usage,
  prices: { readonly policy: Price; readonly other?: Price },
  counts: { readonly passed: number; readonly dependable: number },
): CostReport {
  const total = costOf(usage, prices.policy, prices.other);
  return {
    total,
    perSuccess: counts.passed === 0 ? null : total / counts.passed,
    perDependable: counts.dependable === 0 ? null : total / counts.dependable,
  };
}

export interface TerminationCounts {
  readonly attempts: number;
  readonly passed: number;
}

export function byTermination(
  attempts: Iterable<{ readonly termination: Termination | null; readonly passed: boolean | null }>,
): Partial<Record<Termination, TerminationCounts>> {
  const counts: Partial<Record<Termination, TerminationCounts>> = {};
  for (const { termination, passed } of attempts) {
    if (termination === null) continue;
    const before = counts[termination] ?? { attempts: 0, passed: 0 };
    counts[termination] = { attempts: before.attempts + 1, passed: before.passed + (passed ? 1 : 0) };
  }
  return counts;
}
