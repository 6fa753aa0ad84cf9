/**
 * The endless task order of one training run: concatenated permutations of its pool.
 *
 *   index   0 ........ n-1 | n ........ 2n-1 | 2n ...
 *           epoch 0        | epoch 1         |           each epoch shuffled by hash(seed, epoch)
 *
 * A step owns no part of the order beforehand. It begins at its cursor, the number of groups that all committed
 * steps have started, and its group g is the g-th *distinct* task met from there on: a task that the step has
 * already started is passed over, which can happen only where the step crosses an epoch border. So the task of
 * group g depends on (pool, seed, cursor, g) alone, never on what finished first, and the cursor stays a plain sum
 * over committed rows. The price, at a border: a task passed over loses that turn, and as many of the last tasks
 * of the step come up again in the next one.
 *
 * Pure; workflows import it.
 */
import { UsageError } from './faults.js';
import { randomStream, shuffled } from './random.js';

/** Permutations kept at once: a step spans two epochs at most, unless the pool is smaller than a step. */
const KEPT_EPOCHS = 4;

export class TaskOrder {
  readonly pool: readonly string[];
  readonly #epochs = new Map<number, readonly string[]>();

  /** The pool's own order does not matter. Throws `UsageError` for an empty pool and for a task that is in it twice. */
  constructor(
    pool: readonly string[],
    readonly seed: number | string,
  ) {
    const sorted = [...pool].sort(byCodeUnit);
    const twice = sorted.find((id, index) => id === sorted[index + 1]);
    if (twice !== undefined) throw new UsageError('pool', 'every task once', `"${twice}" more than once`);
    if (sorted.length === 0) throw new UsageError('pool', 'at least one task', 'none');
    this.pool = sorted;
  }

  /** Task at `index`, from 0, of the endless order. */
  at(index: number): string {
    if (!Number.isSafeInteger(index) || index < 0) {
      throw new RangeError(`index of the task order: expected an integer from 0, found ${index}`);
    }
    const size = this.pool.length;
    return this.#epoch(Math.floor(index / size))[index % size] as string;
  }

  /** Tasks of a step's groups 0, 1, 2 ...; ends when every task of the pool has come up once. */
  *distinctFrom(cursor: number): Generator<string, undefined> {
    const used = new Set<string>();
    for (let index = cursor; used.size < this.pool.length; index++) {
      const taskId = this.at(index);
      if (used.has(taskId)) continue;
      used.add(taskId);
      yield taskId;
    }
    return undefined;
  }

  #epoch(epoch: number): readonly string[] {
    const known = this.#epochs.get(epoch);
    if (known) return known;
    const permutation = shuffled(this.pool, randomStream('task order', this.seed, epoch));
    if (this.#epochs.size >= KEPT_EPOCHS) this.#epochs.delete(Math.min(...this.#epochs.keys()));
    this.#epochs.set(epoch, permutation);
    return permutation;
  }
}

/** `new TaskOrder(pool, seed).at(index)`, for a single look-up. */
export function taskAt(pool: readonly string[], seed: number | string, index: number): string {
  return new TaskOrder(pool, seed).at(index);
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
