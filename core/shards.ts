/** Shards of a campaign's attempts, and the compact form in which a plan names the missing ones. Pure. */

/** [from, to) of each shard, `size` attempts at most each. */
export function shardRanges(attempts: number, size: number): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (let from = 0; from < attempts; from += size) ranges.push([from, Math.min(from + size, attempts)]);
  return ranges;
}

/** A set of positions below `length` as hex digits, four positions each, the first in the highest bit. */
export function encodePositions(positions: Iterable<number>, length: number): string {
  const digits = new Array<number>(Math.ceil(length / 4)).fill(0);
  for (const position of positions) {
    if (position < 0 || position >= length) throw new RangeError(`position ${position} of ${length}`);
    digits[position >> 2]! |= 8 >> (position & 3);
  }
  return digits.map((digit) => digit.toString(16)).join('');
}

/** Inverse of `encodePositions`, each position raised by `offset`, ascending. */
export function shardPositions(hex: string, offset: number): readonly number[] {
  const positions: number[] = [];
  for (let index = 0; index < hex.length; index++) {
    const digit = Number.parseInt(hex[index]!, 16);
    for (let bit = 0; bit < 4; bit++) if (digit & (8 >> bit)) positions.push(offset + index * 4 + bit);
  }
  return positions;
}
