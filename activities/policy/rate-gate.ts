/**
 * The gate in front of a provider: requests of this process wait here in the order in which they came, and go when
 * the limit that all processes share allows it.
 *
 * One question to the database leases a burst for everybody who waits by then, so a busy process asks once a burst,
 * not once a request; a provider without limits costs one question every ten seconds. Processes queue for their turns,
 * and nothing is booked before it can start: what is given back is there for whoever is next. A lease that comes due
 * late (a process that stood still, an answer that was long in coming) is given back and asked for again: what is sent is always inside the limit.
 */
import { randomBytes } from 'node:crypto';
import { LATE_SHARE } from '../../core/limits/bucket.js';
import type { Lease, Rates, Settlement } from '../../core/limits/rates.js';

/** Leave to send one request. */
export interface Permit {
  /** The tokens that it really used; nothing where that is not known: then what was booked stays booked. */
  settle(tokens: number | undefined): void;
  /** The provider refused it and asks for a pause. True: everybody waits for it at the gate. */
  refused(retryAfterMs: number): Promise<boolean>;
}

export interface Gate {
  /** `tokens`: the most that the request may use. Throws the signal's reason, or `Fault('ledger')`. */
  admit(tokens: number, signal: AbortSignal): Promise<Permit>;
}

/** How long "no limits" is believed. */
const UNLIMITED_MS = 10_000;
/** Requests of one moment share a question. */
const GATHER_MS = 5;
/** What may start so soon is leased now. */
const HORIZON_MS = 200;
/** A process that waits asks at least so often: its place in the queue lives by it, and others give back. */
const ASK_AGAIN_MS = 1_000;
/** Not more often: a process with many replies would ask without end. */
const ASK_LEAST_MS = 50;
/** What replies have used is told with the next question, or after so long. */
const TELL_MS = 500;
/** A provider that asks for a longer pause is asked again after this. */
const LONGEST_PAUSE_MS = 10 * 60_000;
/** Most that one question is about. */
const MOST_ASKED = 500;
const MINUTE_MS = 60_000;

interface Waiter {
  readonly tokens: number;
  readonly go: (permit: Permit) => void;
  readonly fail: (error: unknown) => void;
}

const UNLIMITED: Permit = { settle: () => undefined, refused: async () => false };

/** The gates of one process, by provider. */
export class ProviderGates {
  private readonly gates = new Map<string, ProviderGate>();
  private readonly holder = randomBytes(6).toString('hex');

  /** `windowMs`: of the limits; a test has others. */
  constructor(
    private readonly rates: Rates,
    private readonly windowMs = MINUTE_MS,
  ) {}

  of(provider: string): Gate {
    let gate = this.gates.get(provider);
    if (!gate) {
      gate = new ProviderGate(provider, this.holder, this.rates, this.windowMs * LATE_SHARE);
      this.gates.set(provider, gate);
    }
    return gate;
  }
}

class ProviderGate implements Gate {
  private readonly waiting = new Set<Waiter>();
  private settled: Settlement[] = [];
  private leasing = false;
  private unlimitedUntil = Number.NEGATIVE_INFINITY;
  private telling: ReturnType<typeof setTimeout> | undefined;
  /** Ends the present sleep. */
  private wake: () => void = () => undefined;

  constructor(
    private readonly provider: string,
    private readonly holder: string,
    private readonly rates: Rates,
    private readonly lateMs: number,
  ) {}

  admit(tokens: number, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    if (performance.now() < this.unlimitedUntil) return Promise.resolve(UNLIMITED);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.waiting.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        tokens: Math.ceil(tokens),
        go: (permit) => {
          end();
          resolve(permit);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      };
      const onAbort = (): void => {
        waiter.fail(signal.reason);
        if (this.waiting.size === 0) this.wake();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.waiting.add(waiter);
      void this.leaseAll();
    });
  }

  /** One question after the other while somebody waits; leaves the queue at the end. Never throws. */
  private async leaseAll(): Promise<void> {
    if (this.leasing) return;
    this.leasing = true;
    await this.sleep(GATHER_MS);
    let queued = false;
    while (this.waiting.size > 0) {
      const asked = [...this.waiting].slice(0, MOST_ASKED);
      try {
        queued = await this.leaseFor(asked);
      } catch (error) {
        for (const waiter of asked) waiter.fail(error);
      }
    }
    this.leasing = false;
    if (queued) this.tell();
  }

  /** Lets those go that are granted. True when the process has a place in the queue now. */
  private async leaseFor(asked: readonly Waiter[]): Promise<boolean> {
    const asking = performance.now();
    const lease = await this.take(asked.map(({ tokens }) => tokens));
    const answered = performance.now();
    if (!lease) {
      this.unlimitedUntil = answered + UNLIMITED_MS;
      for (const waiter of asked) waiter.go(UNLIMITED);
      return false;
    }
    if (lease.granted === 0) {
      await this.sleep(Math.min(Math.max(lease.waitMs, ASK_LEAST_MS), ASK_AGAIN_MS));
      return true;
    }
    const due = answered + lease.waitMs;
    while (performance.now() < due) await this.sleep(Math.ceil(due - performance.now()));
    // Booked at some moment while the question was under way, perhaps its first: an answer that was long in coming may
    // be late already.
    const late = performance.now() > asking + lease.waitMs + this.lateMs;
    const leased = asked.slice(0, lease.granted);
    const wanted = leased.reduce((sum, { tokens }) => sum + tokens, 0);
    // A request that wants more than a whole window allows is booked for less.
    const share = wanted === 0 ? 0 : lease.bookedTokens / wanted;
    const unused = { unsent: 0, tokens: 0 };
    for (const waiter of leased) {
      const booked = Math.floor(waiter.tokens * share);
      if (!late && this.waiting.has(waiter)) waiter.go(this.permit(lease, booked));
      else {
        unused.unsent += 1;
        unused.tokens -= booked;
      }
    }
    if (unused.unsent > 0) this.note(lease, unused);
    return false;
  }

  /** With what there is to be settled, which is kept when the question gets no answer. */
  private async take(tokens: readonly number[]): Promise<Lease | undefined> {
    const settled = this.settled.splice(0);
    const { provider, holder } = this;
    try {
      return await this.rates.take({ provider, holder, tokens, settled, horizonMs: HORIZON_MS });
    } catch (error) {
      this.settled.unshift(...settled);
      throw error;
    }
  }

  private permit(lease: Lease, booked: number): Permit {
    return {
      settle: (tokens) => {
        if (tokens !== undefined && tokens !== booked)
          this.note(lease, { unsent: 0, tokens: Math.round(tokens) - booked });
      },
      refused: async (retryAfterMs) => {
        await this.rates.pause(this.provider, Math.min(retryAfterMs, LONGEST_PAUSE_MS));
        return true;
      },
    };
  }

  private note({ requestEpoch, tokenEpoch }: Lease, difference: Pick<Settlement, 'unsent' | 'tokens'>): void {
    this.settled.push({ requestEpoch, tokenEpoch, ...difference });
    this.telling ??= setTimeout(() => this.tell(), TELL_MS);
    this.telling.unref();
  }

  /** What is free again is worth nothing in this process's memory. */
  private tell(): void {
    clearTimeout(this.telling);
    this.telling = undefined;
    // Whoever waits here tells it with the next question, and has the next turn to gain by it.
    if (this.waiting.size > 0) this.wake();
    // With the database away it is told later.
    else this.take([]).catch(() => undefined);
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
