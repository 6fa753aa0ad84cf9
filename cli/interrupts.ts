/**
 * Ctrl-C as the person means it. A terminal signals the whole foreground group and npm passes the signal on once
 * more, so one key press arrives twice: signals that come together are one.
 */
const SAME_PRESS_MS = 400;

/**
 * Calls `first` on the first Ctrl-C or SIGTERM and `second` on the next; returns what takes the handlers away.
 * Until then neither ends the process by itself.
 */
export function onInterrupt(first: () => void, second: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let presses = 0;
  const handle = (): void => {
    const now = performance.now();
    if (now - last < SAME_PRESS_MS) return;
    last = now;
    presses++;
    if (presses === 1) first();
    else if (presses === 2) second();
  };
  process.on('SIGINT', handle).on('SIGTERM', handle);
  return () => {
    process.off('SIGINT', handle).off('SIGTERM', handle);
  };
}
