/**
 * One attempt: tries until it is clean or exhausted. A try that met a system error is data; its siblings go on.
 */
import type { EpisodeRef } from '../core/orchestration.js';
import type { EpisodeSummary } from '../core/outcome.js';
import type { EpisodeQueue } from './episode-queue.js';

export interface AttemptOptions {
  readonly queue: Pick<EpisodeQueue, 'runEpisode'>;
  readonly firstTry: number;
  readonly maxTries: number;
  /** Called after a policy fault, before the next try: brings back weights that a restarted trainer has lost. */
  readonly restorePolicy?: () => Promise<void>;
}

/**
 * Tries that met a trainer that had lost the weights, e.g. because it was killed, do not use up the attempt's own: the
 * restored trainer answers the next one. Nor do those whose container was killed from outside, as an engine that ends
 * does, or ended with its engine: the next one waits until the engine answers. Bounded, so that what never gets better
 * ends the attempt.
 */
const FORGIVEN: ReadonlySet<string | undefined> = new Set(['weights_unavailable', 'killed', 'engine_lost']);
const MOST_FORGIVEN = 20;

/** Returns the clean summary, or the system error of the last try. */
export async function settleAttempt(
  ref: Omit<EpisodeRef, 'tryNumber' | 'lastTry'>,
  options: AttemptOptions,
): Promise<EpisodeSummary> {
  let lastTry = options.firstTry + options.maxTries - 1;
  let forgiven = 0;
  for (let tryNumber = options.firstTry; ; tryNumber++) {
    const summary = await options.queue.runEpisode({ ...ref, tryNumber, lastTry });
    if (summary.outcome !== 'system_error') return summary;
    if (summary.retry === false || tryNumber >= lastTry) return summary;
    if (FORGIVEN.has(summary.faultCode) && forgiven < MOST_FORGIVEN) {
      forgiven++;
      lastTry++;
    }
    if (summary.fault === 'policy') await options.restorePolicy?.();
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
