/**
 * Where kinds want more than may wait altogether, those that were asked for just now go first: a campaign plays its tasks
 * in order, and the tool server of its last tasks is not that of the next ones.
 */

export interface Want {
  /** As many as the demand of the last minute asks for. */
  readonly wanted: number;
  /** How often it was asked for just now. */
  readonly recent: number;
}

/** `most` places by highest averages of `recent`; to each at most what it wants, and what nobody else wants. */
export function allot(wants: readonly Want[], most: number): readonly number[] {
  const given = wants.map(() => 0);
  for (let left = most; left > 0; left -= 1) {
    let best = -1;
    for (const [at, { wanted }] of wants.entries()) {
      if (
        given[at]! < wanted &&
        (best < 0 || claim(wants[at]!, given[at]!) > claim(wants[best]!, given[best]!))
      )
        best = at;
    }
    if (best < 0) break;
    given[best]! += 1;
  }
  return given;
}

/** One that was not asked for just now comes after all that were. */
function claim({ wanted, recent }: Want, given: number): number {
  return recent > 0 ? 1 + recent / (given + 1) : wanted / (wanted + 1) / (given + 1);
}
