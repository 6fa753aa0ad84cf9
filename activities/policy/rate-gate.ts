/**
 * The gate in front of a provider: requests of this process wait here in the order in which they came, and go when
 * the limit that all processes share allows it.
 *
 * One question to the database leases a burst for everybody who waits by then, so a busy process asks once a burst,
 * not once a request; a provider without limits costs one question every ten seconds. A lease that comes due late (a
 * process that stood still) is given back and asked for again: what is sent is always inside the limit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
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
/** What replies have used is told with the next question, or after so long. */
const TELL_MS = 1_000;
/** Leases that start later are worth a second look at whether the provider has asked for a pause meanwhile. */
const LOOK_AGAIN_MS = 250;
/** A provider that asks for a longer pause is asked again after this. */
const LONGEST_PAUSE_MS = 10 * 60_000;
/** Most that one question is about. */
const MOST_ASKED = 500;
const MINUTE_MS = 60_000;

interface Waiter {
  readonly tokens: number;
  readonly go: (permit: Permit) => void;
  readonly fail: (error: unknown) => void;
  /** It no longer waits: cancelled. */
  gone: boolean;
}

const UNLIMITED: Permit = { settle: () => undefined, refused: async () => false };

/** The gates of one process, by provider. */
export class ProviderGates {
  private readonly gates = new Map<string, ProviderGate>();

  /** `windowMs`: of the limits; a test has shorter ones. */
  constructor(
    private readonly rates: Rates,
    private readonly windowMs = MINUTE_MS,
  ) {}

  of(provider: string): Gate {
    let gate = this.gates.get(provider);
    if (!gate) {
      gate = new ProviderGate(provider, this.rates, this.windowMs * LATE_SHARE);
      this.gates.set(provider, gate);
    }
    return gate;
  }
}

class ProviderGate implements Gate {
  private waiting: Waiter[] = [];
  private settled: Settlement[] = [];
  private leasing = false;
  private unlimitedUntil = Number.NEGATIVE_INFINITY;
  private telling: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly provider: string,
    private readonly rates: Rates,
    private readonly lateMs: number,
  ) {}

  admit(tokens: number, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    if (performance.now() < this.unlimitedUntil) return Promise.resolve(UNLIMITED);
    return new Promise((resolve, reject) => {
      const end = (): void => signal.removeEventListener('abort', onAbort);
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
        gone: false,
      };
      const onAbort = (): void => {
        waiter.gone = true;
        this.waiting = this.waiting.filter((other) => other !== waiter);
        waiter.fail(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.waiting.push(waiter);
      void this.leaseAll();
    });
  }

  /** One lease after the other while somebody waits. Never throws. */
  private async leaseAll(): Promise<void> {
    if (this.leasing) return;
    this.leasing = true;
    await sleep(GATHER_MS);
    while (this.waiting.length > 0) {
      const asked = this.waiting.splice(0, MOST_ASKED);
      try {
        this.waiting.unshift(...(await this.leaseFor(asked)));
      } catch (error) {
        for (const waiter of asked) waiter.fail(error);
      }
    }
    this.leasing = false;
  }

  /** Lets those go that the lease is for; returns those that still wait, in their order. */
  private async leaseFor(asked: readonly Waiter[]): Promise<Waiter[]> {
    const lease = await this.take(asked.map(({ tokens }) => tokens));
    const answered = performance.now();
    if (!lease) {
      this.unlimitedUntil = answered + UNLIMITED_MS;
      for (const waiter of asked) waiter.go(UNLIMITED);
      return [];
    }
    const stillWaiting = (from: number): Waiter[] => asked.slice(from).filter(({ gone }) => !gone);
    const leased = asked.slice(0, lease.granted);
    const due = answered + lease.waitMs;
    await waitUntil(due, () => leased.every(({ gone }) => gone));
    const paused = lease.waitMs > LOOK_AGAIN_MS && (await this.rates.pausedMs(this.provider)) > 0;
    if (paused || performance.now() > due + this.lateMs) {
      this.note(lease, { unsent: lease.granted, tokens: -lease.bookedTokens });
      return stillWaiting(0);
    }
    const wanted = leased.reduce((sum, { tokens }) => sum + tokens, 0);
    // A request that wants more than a whole window allows is booked for less.
    const share = wanted === 0 ? 0 : lease.bookedTokens / wanted;
    const unused = { unsent: 0, tokens: 0 };
    for (const waiter of leased) {
      const booked = Math.floor(waiter.tokens * share);
      if (!waiter.gone) waiter.go(this.permit(lease, booked));
      else {
        unused.unsent += 1;
        unused.tokens -= booked;
      }
    }
    if (unused.unsent > 0) this.note(lease, unused);
    return stillWaiting(lease.granted);
  }

  /** With what there is to be settled, which is kept when the question gets no answer. */
  private async take(tokens: readonly number[]): Promise<Lease | undefined> {
    const told = this.settled.splice(0);
    try {
      return await this.rates.take(this.provider, tokens, told);
    } catch (error) {
      this.settled.unshift(...told);
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

  /** For those who wait elsewhere: what is free again is worth nothing in this process's memory. */
  private tell(): void {
    this.telling = undefined;
    // With the database away it is told with the next question.
    if (this.settled.length > 0) this.take([]).catch(() => undefined);
  }
}

/** Returns at `due`, or within a second after nobody needs it any more. */
async function waitUntil(due: number, needless: () => boolean): Promise<void> {
  for (;;) {
    const left = due - performance.now();
    if (left <= 0 || needless()) return;
    await sleep(Math.min(Math.ceil(left), MINUTE_MS / 60));
  }
}
