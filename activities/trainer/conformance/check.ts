/**
 * Words of the conformance suite: a check proves one promise of the trainer contract from outside.
 *
 * A check returns its evidence, throws `Broken` where the promise does not hold, and `NotClaimed` where the
 * implementation does not make it. Whatever else it throws is a failure of the implementation too.
 */
import { Fault } from '../../../core/faults.js';
import type { Bench } from './bench.js';

export interface Check {
  /** Unique in the suite; what documentation refers to. */
  readonly name: string;
  /** One sentence: what an implementation promises. */
  readonly promise: string;
  /** Returns the evidence: what was done and found. */
  readonly run: (bench: Bench) => Promise<string>;
}

export type Outcome = 'pass' | 'fail' | 'skip';

export interface CheckResult {
  readonly name: string;
  readonly promise: string;
  readonly outcome: Outcome;
  /** What was done and found; of a skipped check, why. */
  readonly evidence: string;
}

/** The promise does not hold. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** The implementation does not make this promise, or it cannot be seen from here; the message says which. */
export class NotClaimed extends Error {
  override readonly name = 'NotClaimed';
}

export function hold(condition: boolean, found: string): void {
  if (!condition) throw new Broken(found);
}

/** Equal as JSON. */
export function same(what: string, found: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Broken(`${what}: expected ${short(b)}, found ${short(a)}`);
}

/** Within `bound`; NaN never is. */
export function close(what: string, found: number, expected: number, bound: number): void {
  if (Math.abs(found - expected) <= bound) return;
  throw new Broken(`${what}: expected ${expected} within ${bound}, found ${found}`);
}

/** The call must be refused with this code, and with a message that names `naming`. */
export async function refused(
  what: string,
  code: string,
  call: Promise<unknown>,
  naming = '',
): Promise<void> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof Fault && error.code === code) {
      if (error.message.includes(naming)) return;
      throw new Broken(`${what}: expected a refusal that names ${naming}, found ${short(error.message)}`);
    }
    const found = error instanceof Fault ? `${error.code}: ${error.message}` : String(error);
    throw new Broken(`${what}: expected a refusal with ${code}, found ${short(found)}`);
  }
  throw new Broken(`${what}: expected a refusal with ${code}, found ${short(JSON.stringify(answer))}`);
}

function short(text: string | undefined): string {
  const whole = text ?? 'nothing';
  return whole.length <= 300 ? whole : `${whole.slice(0, 300)}…`;
}
