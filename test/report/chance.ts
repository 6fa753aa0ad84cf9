/** A seeded generator for fixtures (mulberry32): the same report on every machine. */
export function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How many of `n` succeed at rate `p`. */
export function binomial(random: () => number, n: number, p: number): number {
  let hits = 0;
  for (let index = 0; index < n; index += 1) if (random() < p) hits += 1;
  return hits;
}

/** `sha256:` and 64 hex digits that look like any other. */
export function digest(random: () => number): string {
  return `sha256:${Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('')}`;
}
