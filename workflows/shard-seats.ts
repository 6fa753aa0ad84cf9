/**
 * How the shards of one campaign share its lanes. Each shard in flight has a seat; lanes are divided over the seats
 * that are taken or will be, the first ones getting what does not divide. A share grows when shards end and none
 * follows; it shrinks only when a person lowers the lanes, so that the sum never exceeds them.
 */

export class ShardSeats {
  readonly #taken: number[] = [];

  constructor(
    private readonly most: number,
    /** Shards that have not begun. */
    private readonly waiting: () => number,
  ) {}

  /** Shards that may be in flight with so many lanes. */
  width(lanes: number): number {
    return Math.min(this.most, lanes);
  }

  /** Takes the lowest free seat. */
  take(): number {
    const seat = this.#taken.findIndex((taken, index) => taken !== index);
    const free = seat === -1 ? this.#taken.length : seat;
    this.#taken.splice(free, 0, free);
    return free;
  }

  leave(seat: number): void {
    this.#taken.splice(this.#taken.indexOf(seat), 1);
  }

  /** Of `lanes` in all, those of the shard in this seat. */
  share(lanes: number, seat: number): number {
    const taken = this.#taken.length;
    const seats = Math.max(taken, Math.min(this.width(lanes), taken + this.waiting()));
    const rank = this.#taken.indexOf(seat);
    return Math.floor(lanes / seats) + (rank < lanes % seats ? 1 : 0);
  }
}
