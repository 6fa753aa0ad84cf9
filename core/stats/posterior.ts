/**
 * What k successes in n trials say about a success rate: the Jeffreys posterior Beta(k + ½, n - k + ½).
 * jstat's beta distribution is good to about 1.5e-8. Not for workflows: jstat stays out of their bundle.
 */
import jstat from 'jstat';

export interface Posterior {
  readonly alpha: number;
  readonly beta: number;
  /** P(rate < x). */
  below(x: number): number;
  /** The rate that a share `probability` of the posterior lies below. */
  quantile(probability: number): number;
}

/** Throws `RangeError` unless 0 <= successes <= trials, both integers. */
export function jeffreysPosterior(successes: number, trials: number): Posterior {
  if (!(Number.isInteger(successes) && Number.isInteger(trials) && successes >= 0 && successes <= trials)) {
    throw new RangeError(
      `posterior: expected integers 0 <= successes <= trials, found ${successes} of ${trials}`,
    );
  }
  const alpha = successes + 0.5;
  const beta = trials - successes + 0.5;
  return {
    alpha,
    beta,
    below: (x) => jstat.beta.cdf(x, alpha, beta),
    quantile: (probability) => jstat.beta.inv(probability, alpha, beta),
  };
}
