/**
 * One limit of a provider ("n a minute") as a bucket that refills evenly and holds a burst.
 *
 * Kept is one number, the time at which the bucket will be full again. Something of cost c may start at
 * `full + (c − burst) × each`, never before now, and moves `full` by `c × each`. So any window of the length that
 * `bucketShape` was made for holds at most the limit: `burst + window / each`. What starts in the future is a
 * reservation: who asks first starts first.
 *
 * The rule is executed by PostgreSQL (`take_rate`), where all processes meet; a test holds both together.
 */

export interface BucketShape {
  /** What may start at once. */
  readonly burst: number;
  /** Time that a cost of 1 takes to refill, ns; a whole number. */
  readonly eachNs: number;
}

export interface BucketState {
  /** When the bucket is full again, ns. */
  readonly fullNs: number;
  /** Times that it had been full when something started: a refund that is older has been refilled meanwhile. */
  readonly epoch: number;
}

export const EMPTY_HISTORY: BucketState = { fullNs: 0, epoch: 0 };

/** A twentieth of the requests at once; tokens come in larger pieces. */
const BURST_SHARE = { requests: 1 / 20, tokens: 1 / 4 } as const;

/**
 * A permit is good for so long after its time, as a share of the window (2 s of a minute): what is sent late, or travels
 * slowly, is still inside the limit, and what would be sent later is asked for again.
 */
export const LATE_SHARE = 1 / 30;

/** `limit`: whole number, at least 1, in `windowMs`. */
export function bucketShape(kind: keyof typeof BURST_SHARE, limit: number, windowMs: number): BucketShape {
  const burst = Math.max(1, Math.floor(limit * BURST_SHARE[kind]));
  const coveredNs = windowMs * (1 + LATE_SHARE) * 1e6;
  // Of a closed window, `floor(covered / each)` refills count; one nanosecond more keeps them under `limit − burst + 1`.
  return { burst, eachNs: Math.floor(coveredNs / (limit - burst + 1)) + 1 };
}

/** Starts something of a cost as early as may be, and books it. */
export function take(
  state: BucketState,
  { burst, eachNs }: BucketShape,
  cost: number,
  nowNs: number,
): { readonly startNs: number; readonly state: BucketState } {
  const startNs = Math.max(nowNs, state.fullNs + (cost - burst) * eachNs);
  const wasFull = startNs >= state.fullNs;
  return {
    startNs,
    state: {
      fullNs: (wasFull ? startNs : state.fullNs) + cost * eachNs,
      epoch: state.epoch + (wasFull ? 1 : 0),
    },
  };
}

/** What a reservation of `epoch` really cost, against what was booked: less is given back, more is owed. */
export function settle(
  state: BucketState,
  { eachNs }: BucketShape,
  difference: number,
  epoch: number,
): BucketState {
  if (difference < 0 && epoch !== state.epoch) return state;
  return { ...state, fullNs: state.fullNs + difference * eachNs };
}
