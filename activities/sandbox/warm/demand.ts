/**
 * How many sandboxes of one kind should stand ready: as many as were asked for at once lately. `At once` is within the
 * time that a start takes, since what is taken now is made up for only after that; `lately` is the last minute, so that
 * a worker without work soon holds none.
 *
 * A kind that was asked for once may be of one task only (its server has the case in its environment) and never come
 * again: nothing is kept of it.
 */

/** Too low: waves of a campaign's lanes find nothing ready; too high: what is no longer needed stays for longer. */
export const LATELY_MS = 60_000;
/** What was asked for within so long is what is being played now. */
const JUST_NOW_MS = 10_000;
/** Before any start was timed. */
const FIRST_START_MS = 1_000;
/** A start that was faster or slower than usual moves the estimate by this share. */
const WEIGHT = 0.25;
/** Starts that are made ahead have to wait for each other. */
const SPANS = 2;

export class Demand {
  /** Times of the asks of the last minute, rising. */
  private asks: number[] = [];
  private startMs = FIRST_START_MS;

  /** Times, here and below, are of one clock that never goes back, ms. */
  asked(at: number): void {
    this.asks.push(at);
  }

  /** How long a start took that somebody waited for. */
  took(ms: number): void {
    this.startMs += WEIGHT * (ms - this.startMs);
  }

  /** How often just now. */
  recent(at: number): number {
    return this.asks.filter((ask) => ask > at - JUST_NOW_MS).length;
  }

  wanted(at: number): number {
    const since = at - LATELY_MS;
    const old = this.asks.findIndex((ask) => ask > since);
    this.asks = old < 0 ? [] : this.asks.slice(old);
    return this.asks.length < 2 ? 0 : mostWithin(this.asks, SPANS * this.startMs);
  }
}

/** The most of the rising `times` that lie within any `span`. */
export function mostWithin(times: readonly number[], span: number): number {
  let most = 0;
  let from = 0;
  for (let to = 0; to < times.length; to += 1) {
    while (times[to]! - times[from]! > span) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
