/**
 * Parameters of one task, drawn by hashing its name. Numbers are split between training and benchmark by the sum of
 * their digits, so that every digit occurs in every place on both sides and no identifier or amount occurs on both.
 */
import { seedOf } from '../../core/seed.js';
import { LIMIT } from './world/shared.js';

export type Split = 'train' | 'benchmark';

/** Letter that identifiers of a kind begin with. */
export const ID_PREFIXES = {
  order: 'r',
  customer: 'c',
  booking: 'b',
  traveler: 't',
  flight: 'f',
  client: 'k',
  card: 'g',
  payment: 'p',
  account: 'a',
} as const;
export type IdKind = keyof typeof ID_PREFIXES;

/** Side of a two-digit number (10 to 99). A quarter belongs to the benchmark. */
export function splitOf(number: number): Split {
  return (Math.floor(number / 10) + (number % 10)) % 4 === 0 ? 'benchmark' : 'train';
}

const numbers = Array.from({ length: 90 }, (_, index) => index + 10);

export class Draw {
  private state: number;
  private readonly used = new Set<string>();

  constructor(
    readonly split: Split,
    seed: string,
  ) {
    this.state = Number(BigInt(seedOf('deskbench', split, seed)) & 0xffffffffn);
  }

  /** Uniform in [0, 1): a 32-bit counter through an avalanche mix. */
  uniform(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 0x1_0000_0000;
  }

  pick<T>(options: readonly T[]): T {
    const picked = options[Math.floor(this.uniform() * options.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  /** Two different options, in drawn order. */
  pickTwo<T>(options: readonly T[]): [T, T] {
    const first = this.pick(options);
    return [first, this.pick(options.filter((option) => option !== first))];
  }

  /** `r41`: never the same twice within one draw. */
  id(kind: IdKind): string {
    const prefix = ID_PREFIXES[kind];
    const free = numbers.filter((n) => splitOf(n) === this.split && !this.used.has(`${prefix}${n}`));
    const id = `${prefix}${this.pick(free)}`;
    this.used.add(id);
    return id;
  }

  /** Dollars, two digits; on the given side of the desk's limit, or on either. */
  amount(side?: 'over' | 'under'): number {
    return this.pick(
      numbers.filter(
        (n) => splitOf(n) === this.split && (side === undefined || n > LIMIT === (side === 'over')),
      ),
    );
  }
}
