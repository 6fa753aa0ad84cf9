/** Clocks and bounds of a server's keeper, ms; `SERVING` of temporal.config.ts says what each is for. */
export interface ServingTimes {
  readonly startMs: number;
  readonly mergeMs: number;
  readonly mergeSilentMs: number;
  readonly healthEveryMs: number;
  readonly canaryMs: number;
  readonly hungMs: number;
  readonly restarts: number;
  readonly backoffMs: { readonly first: number; readonly longest: number };
  readonly stableMs: number;
  readonly graceMs: number;
  readonly lookMs: number;
  readonly wantedMs: number;
  readonly keptMs: number;
}

/** Pause before the n-th start again, from 1: twice the one before it, up to the longest. */
export function backoff(restart: number, { first, longest }: ServingTimes['backoffMs']): number {
  return Math.min(first * 2 ** (restart - 1), longest);
}
