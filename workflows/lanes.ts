/** Lanes: at most so many pieces of work in flight, the next one taken when a lane is free. */

/** How many lanes there are, where that may change while work is in flight. */
export interface LaneWidth {
  /** None is started while this is not above what is in flight; 0 starts none at all. */
  readonly now: number;
  /** Settles at the next change of `now`. */
  readonly changed: Promise<void>;
}

/**
 * Runs `work` on every item that `next` gives until it gives `undefined` and nothing is in flight. `next` is asked
 * again after each piece of work, so that work may beget work. Rejects with the first error, after the rest settled.
 * A width that grows is filled at once; one that shrinks takes nothing from what is in flight.
 */
export async function inLanes<T>(
  width: LaneWidth,
  next: () => T | undefined,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  const errors: unknown[] = [];
  const start = (item: T) => {
    const piece: Promise<void> = work(item)
      .catch((error: unknown) => {
        errors.push(error);
      })
      .finally(() => {
        inFlight.delete(piece);
      });
    inFlight.add(piece);
  };
  for (;;) {
    let dry = errors.length > 0;
    while (!dry && inFlight.size < width.now) {
      const item = next();
      if (item === undefined) dry = true;
      else start(item);
    }
    if (dry && inFlight.size === 0) break;
    await Promise.race(dry ? inFlight : [...inFlight, width.changed]);
  }
  if (errors.length > 0) throw errors[0];
}
