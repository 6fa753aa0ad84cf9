/**
 * One attempt: tries until it is clean or exhausted. A try that met a system error is data; its siblings go on.
 */
import type { EpisodeRef } from '../core/orchestration.js';
import type { EpisodeSummary } from '../core/outcome.js';
import { episodes } from './proxies.js';

export interface AttemptOptions {
  readonly firstTry: number;
  readonly maxTries: number;
  /** Called after a policy fault, before the next try: brings back weights that a restarted trainer has lost. */
  readonly restorePolicy?: () => Promise<void>;
}

/**
 * Tries that met a trainer that had lost the weights, e.g. because it was killed, do not use up the attempt's own:
 * the restored trainer answers the next one. Bounded, so that a trainer that never keeps them ends the attempt.
 */
const WEIGHTS_LOST = { code: 'weights_unavailable', mostForgiven: 20 } as const;

/** Returns the clean summary, or the system error of the last try. */
export async function settleAttempt(
  ref: Omit<EpisodeRef, 'tryNumber' | 'lastTry'>,
  options: AttemptOptions,
): Promise<EpisodeSummary> {
  let lastTry = options.firstTry + options.maxTries - 1;
  let forgiven = 0;
  for (let tryNumber = options.firstTry; ; tryNumber++) {
    const summary = await episodes.runEpisode({ ...ref, tryNumber, lastTry });
    if (summary.outcome !== 'system_error') return summary;
    if (summary.retry === false || tryNumber >= lastTry) return summary;
    if (summary.fault !== 'policy') continue;
    if (summary.faultCode === WEIGHTS_LOST.code && forgiven < WEIGHTS_LOST.mostForgiven) {
      forgiven++;
      lastTry++;
    }
    await options.restorePolicy?.();
  }
}

/** Many callers, one execution at a time: those who come while it runs share its result. */
export function singleFlight(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= action().finally(() => {
      running = undefined;
    });
    return running;
  };
}
