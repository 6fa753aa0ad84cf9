/**
 * The completion by which a server is taken for ready and for alive: a few ids that every vocabulary has, sampled
 * greedily, so that the log-probability of what comes first is a number of the weights alone.
 */
import { Fault } from '../faults.js';

/** The same for every model: ids from the lowest of a vocabulary, where plain characters are. */
export const CANARY_PROMPT: readonly number[] = [5, 7, 11, 13, 6, 12, 9, 10];
export const CANARY_TOKENS = 2;

/** Above what two starts of the same weights differ by in bfloat16; other weights are further away. Nats. */
const SAME_WITHIN = 0.1;
/** A distribution that is this close to uniform comes from weights that were never loaded. Nats. */
const FROM_UNIFORM = 1e-3;

export interface CanaryFacts {
  /** Ids that the weights have a row for; null where the configuration does not say. */
  readonly vocabulary: number | null;
  /** What an earlier server of the same weights answered; null: none has. */
  readonly reference: number | null;
}

/** Throws `Fault('trainer', code: 'garbage')` for what these weights cannot have said. */
export function checkCanary(first: number, { vocabulary, reference }: CanaryFacts): void {
  if (vocabulary !== null && first < -Math.log(vocabulary) + FROM_UNIFORM)
    throw garbage(`every token of ${vocabulary} is equally likely: the weights are not loaded`);
  if (reference !== null && Math.abs(first - reference) > SAME_WITHIN) {
    throw garbage(
      `the likeliest token after a fixed prompt has log-probability ${first.toFixed(4)}, ` +
        `of the same weights before it had ${reference.toFixed(4)}`,
    );
  }
}

function garbage(message: string): Fault {
  return new Fault('trainer', message, { code: 'garbage' });
}
