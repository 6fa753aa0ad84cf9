/**
 * Reproducible random numbers from a name: the same parts give the same numbers on every host and engine.
 * Pure 32-bit arithmetic, so workflows may use it (node:crypto may not enter their bundle). Not for secrets.
 *
 * A name is hashed to 128 bits (FNV-1a over UTF-16 units, four lanes, avalanche at the end), which seed
 * Blackman and Vigna's xoshiro128**.
 */

export interface RandomStream {
  /** Uniform in 0 .. 2^32 - 1. */
  uint32(): number;
  /** Uniform integer in 0 .. bound - 1, without modulo bias; `bound` is 1 .. 2^32. */
  below(bound: number): number;
}

/** A stream named by its parts; parts are joined by NUL, so `('a', 'bc')` and `('ab', 'c')` differ. */
export function randomStream(...parts: readonly (string | number)[]): RandomStream {
  const name = parts.join('\0');
  // Four lanes, one offset basis each. xoshiro never leaves the all-zero state, which `| 1` makes unreachable.
  let a = hash32(name, 0x811c9dc5);
  let b = hash32(name, 0x2f0b4c47);
  let c = hash32(name, 0xd6e8feb8);
  let d = hash32(name, 0x6a09e667) | 1;

  function uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  }

  function below(bound: number): number {
    const unbiased = 2 ** 32 - (2 ** 32 % bound);
    let value = uint32();
    while (value >= unbiased) value = uint32();
    return value % bound;
  }

  return { uint32, below };
}

/** A new array with the items in an order drawn from the stream (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], stream: RandomStream): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const chosen = stream.below(last + 1);
    const held = result[last] as T;
    result[last] = result[chosen] as T;
    result[chosen] = held;
  }
  return result;
}

function hash32(text: string, basis: number): number {
  let hash = basis;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
