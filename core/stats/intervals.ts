/**
 * 95 % intervals where the task is the unit that was sampled: attempts at one task are alike, so they are never
 * counted as independent. `low` and `high` are null where fewer than two tasks say nothing about their spread.
 *
 *   clusteredRate    pooled rate; cluster-robust standard error, Student's t
 *   bootstrapMean    mean over tasks of any statistic; percentile bootstrap over tasks
 *   pairedMean       mean over tasks of a difference; Student's t
 *
 * When all tasks agree on 0 or on 1 neither a standard error nor a bootstrap can see that there is doubt left:
 * then, and only then, the interval is Wilson's for that many tasks (for a difference: up to its end both ways).
 */
import jstat from 'jstat';
import { randomStream } from '../random.js';
import type { Estimate } from '../report-data.js';

const CONFIDENCE = 0.95;
const UPPER = 0.5 + CONFIDENCE / 2;
/** Enough that the ends move by less than a tenth of the interval's half-width. */
const RESAMPLES = 2000;

export interface Cluster {
  readonly passed: number;
  readonly attempts: number;
}

/** Σ passed / Σ attempts over clusters with at least one attempt, with its standard error. */
export function clusteredRate(
  clusters: readonly Cluster[],
): Estimate & { readonly standardError: number | null } {
  const attempts = sum(clusters.map((cluster) => cluster.attempts));
  const value = attempts === 0 ? 0 : sum(clusters.map(({ passed }) => passed)) / attempts;
  const count = clusters.length;
  if (count < 2 || attempts === 0) return { value, low: null, high: null, standardError: null };
  const squares = sum(clusters.map((cluster) => (cluster.passed - value * cluster.attempts) ** 2));
  const standardError = Math.sqrt((count / (count - 1)) * squares) / attempts;
  if (value === 0 || value === 1) return { value, ...wilson(value * count, count), standardError };
  const margin = jstat.studentt.inv(UPPER, count - 1) * standardError;
  return { value, low: Math.max(0, value - margin), high: Math.min(1, value + margin), standardError };
}

/**
 * Mean of values[task] in [0, 1]. The resampling is seeded by `name` and the number of tasks: the same values give
 * the same interval, in any order of tasks.
 */
export function bootstrapMean(values: readonly number[], name: string): Estimate {
  const count = values.length;
  const value = count === 0 ? 0 : sum(values) / count;
  if (count < 2) return { value, low: null, high: null };
  if (values.every((one) => one === 0) || values.every((one) => one === 1)) {
    return { value, ...wilson(value * count, count) };
  }
  return { value, ...bootstrapInterval(values, name) };
}

/** Mean of differences[task] in [-1, 1]; `bootstrap` for differences of a share of tasks, else Student's t. */
export function pairedMean(
  differences: readonly number[],
  method: 't' | 'bootstrap',
  name: string,
): Estimate {
  const count = differences.length;
  const value = count === 0 ? 0 : sum(differences) / count;
  if (count < 2) return { value, low: null, high: null };
  if (differences.every((one) => one === 0)) {
    const { high } = wilson(0, count);
    return { value, low: -high, high };
  }
  if (method === 'bootstrap') return { value, ...bootstrapInterval(differences, name) };
  const variance = sum(differences.map((difference) => (difference - value) ** 2)) / (count - 1);
  const margin = jstat.studentt.inv(UPPER, count - 1) * Math.sqrt(variance / count);
  return { value, low: Math.max(-1, value - margin), high: Math.min(1, value + margin) };
}

/** Wilson's score interval for k of n. */
export function wilson(successes: number, trials: number): { readonly low: number; readonly high: number } {
  const z = jstat.normal.inv(UPPER, 0, 1);
  const rate = successes / trials;
  const centre = (rate + z ** 2 / (2 * trials)) / (1 + z ** 2 / trials);
  const spread = (rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2);
  const half = (z * Math.sqrt(spread)) / (1 + z ** 2 / trials);
  return {
    low: successes === 0 ? 0 : Math.max(0, centre - half),
    high: successes === trials ? 1 : Math.min(1, centre + half),
  };
}

function bootstrapInterval(values: readonly number[], name: string): { low: number; high: number } {
  const sorted = Float64Array.from(values).sort();
  const count = sorted.length;
  const stream = randomStream('bootstrap', name, count);
  const means = new Float64Array(RESAMPLES);
  for (let resample = 0; resample < RESAMPLES; resample++) {
    let total = 0;
    for (let drawn = 0; drawn < count; drawn++) total += sorted[stream.below(count)] as number;
    means[resample] = total / count;
  }
  means.sort();
  const quantile = (share: number) => means[Math.round(share * (RESAMPLES - 1))] as number;
  return { low: quantile(1 - UPPER), high: quantile(UPPER) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
