/** Fixed-width lanes: at most `width` pieces of work in flight, the next one taken when a lane is free. */

/**
 * Runs `work` on every item that `next` gives until it gives `undefined` and nothing is in flight. `next` is asked
 * again after each piece of work, so that work may beget work. Rejects with the first error, after the rest settled.
 */
export async function inLanes<T>(
  width: number,
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
    while (errors.length === 0 && inFlight.size < width) {
      const item = next();
      if (item === undefined) break;
      start(item);
    }
    if (inFlight.size === 0) break;
    await Promise.race(inFlight);
  }
  if (errors.length > 0) throw errors[0];
}
