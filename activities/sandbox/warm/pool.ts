/**
 * Sandboxes that are started ahead of the tries that will use them, by kind: what they are made of, without what is
 * one try's own (name, key, expiry).
 *
 *   written down → started → waiting → taken once, or ended
 *
 * A taken one never comes back. One that ended by itself while it waited is noticed, ended and counted, and not handed
 * out. How many wait follows the demand, up to a bound over all kinds.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../../../core/ledger.js';
import type { Isolation, ServerSpec } from '../../../core/sandbox.js';
import { allot } from './allot.js';
import { Demand, LATELY_MS } from './demand.js';
import { type Startable, Warm } from './warm.js';

/** Nobody waits longer than this for a try; then it is replaced. It is in the ledger as the expiry. */
const WAIT_MS = 10 * 60_000;
/** Not handed out so shortly before: a sweep must never end what a try has just claimed. */
const MARGIN_MS = 60_000;
/** After a start that failed, or one that ended by itself: the engine may be away. */
const PAUSE_MS = 10_000;
const LOOK_MS = 2_000;
/** An engine that hangs must not keep the worker from ending. */
const CLOSE_MS = 6_000;

export interface StartAhead {
  readonly name: string;
  readonly servers: readonly ServerSpec[];
  /** ISO time: what is written on it, which cannot be changed later; beyond the end of the try that may claim it. */
  readonly expiresAt: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What the operator and the worker say about sandboxes that are started ahead. */
export interface WarmSettings {
  readonly ledger: Pick<Ledger, 'sandboxesAhead' | 'sandboxCreated' | 'sandboxEnded'>;
  readonly host: string;
  readonly worker: string;
  /** Most that may wait, over all kinds; 0: none. */
  readonly most: number;
  /**
   * Starts ahead at a time, beside those that episodes wait for. Too low: where most episodes wait for a start of their
   * own, that never changes; too high: a wave of starts ahead slows those down.
   */
  readonly atOnce: number;
  /** Told of one whose release did not get through. */
  readonly leftBehind: (sandbox: { readonly name: string; readonly isolation: Isolation }) => void;
  readonly say: (line: string) => void;
  /** A clock that never goes back, ms; the process's own when absent. */
  readonly now?: () => number;
}

interface Kind<T extends Startable> {
  readonly demand: Demand;
  servers: readonly ServerSpec[];
  /** How long after it begins a try of this kind may hold its sandbox, ms. */
  heldMs: number;
  /** Oldest first: those are surely up. */
  waiting: Warm<T>[];
  starting: number;
  lastAsked: number;
}

export class WarmPool<T extends Startable> {
  private readonly kinds = new Map<string, Kind<T>>();
  private readonly busy = new Set<Promise<void>>();
  /** `surplus`: ended by us, too many or too old or at the end of the worker. */
  private readonly counts = { started: 0, taken: 0, died: 0, surplus: 0 };
  private pausedUntil = 0;
  private ended: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly isolation: Isolation,
    private readonly settings: WarmSettings,
    private readonly start: (ahead: StartAhead) => Promise<T>,
  ) {}

  /** One that waits and whose own expiry is not before the try's; undefined when a new one must be started. */
  take(kindOf: string, servers: readonly ServerSpec[], expiresAt: string): Warm<T> | undefined {
    if (this.closed || this.settings.most === 0) return undefined;
    const kind = this.kind(kindOf, servers);
    const now = Date.now();
    const expires = Date.parse(expiresAt);
    kind.heldMs = Math.max(0, expires - now);
    kind.lastAsked = this.now();
    kind.demand.asked(kind.lastAsked);
    const at = kind.waiting.findIndex(
      (warm) => warm.sandbox.living && now < warm.until - MARGIN_MS && warm.expires >= expires,
    );
    const [warm] = at < 0 ? [] : kind.waiting.splice(at, 1);
    if (warm) {
      warm.sandbox.onEnd = undefined;
      this.counts.taken += 1;
    }
    this.fill();
    return warm;
  }

  /** A start that somebody waits for: how long it takes says how far ahead others must be begun. */
  async waited<R>(kindOf: string, work: () => Promise<R>): Promise<R> {
    const from = performance.now();
    const result = await work();
    this.kinds.get(kindOf)?.demand.took(performance.now() - from);
    return result;
  }

  /** One was handed out and turned out to have ended. */
  wasDead(): void {
    this.counts.died += 1;
  }

  /**
   * Ends all that wait and starts no more; settles when that is done, or cannot be done in time: the sweeps of the next
   * worker do it then. Never throws.
   */
  close(): Promise<void> {
    this.ended ??= this.endEverything();
    return this.ended;
  }

  private async endEverything(): Promise<void> {
    clearInterval(this.timer);
    // What is being started now is ended when it is up.
    for (const kind of this.kinds.values()) this.endSurplus(kind.waiting.splice(0));
    const ended = async (): Promise<void> => {
      while (this.busy.size > 0) await Promise.allSettled(this.busy);
    };
    await Promise.race([ended(), sleep(CLOSE_MS, undefined, { ref: false })]);
    const { started, taken, died, surplus } = this.counts;
    if (started === 0) return;
    this.settings.say(
      `of ${started} sandboxes that were started ahead ${taken} were used, ${died} had ended by themselves, ${surplus} were not needed`,
    );
  }

  private get closed(): boolean {
    return this.ended !== undefined;
  }

  private kind(name: string, servers: readonly ServerSpec[]): Kind<T> {
    if (!this.timer) {
      this.timer = setInterval(() => this.look(), LOOK_MS);
      this.timer.unref();
    }
    const known = this.kinds.get(name);
    if (known) {
      known.servers = servers;
      return known;
    }
    const kind = { demand: new Demand(), servers, heldMs: 0, waiting: [], starting: 0, lastAsked: 0 };
    this.kinds.set(name, kind);
    return kind;
  }

  private now(): number {
    return this.settings.now?.() ?? performance.now();
  }

  private waiting(): number {
    return sum(this.kinds.values(), (kind) => kind.waiting.length);
  }

  private look(): void {
    if (this.closed) return;
    const now = Date.now();
    for (const [name, kind] of this.kinds) {
      const old = kind.waiting.filter((warm) => now >= warm.until - MARGIN_MS);
      kind.waiting = kind.waiting.filter((warm) => !old.includes(warm));
      // The youngest go: others may be of use while these are not even up.
      const surplus = kind.waiting.splice(kind.demand.wanted(this.now()));
      this.endSurplus([...old, ...surplus]);
      const forgotten = this.now() - kind.lastAsked > 2 * LATELY_MS;
      if (forgotten && kind.waiting.length + kind.starting === 0) this.kinds.delete(name);
    }
    this.fill();
  }

  /** Starts what is missing, the kind that misses most first; what is in the way of it and asked for no more is ended. */
  private fill(): void {
    const { most, atOnce } = this.settings;
    if (this.closed || performance.now() < this.pausedUntil) return;
    const kinds = [...this.kinds.values()];
    const now = this.now();
    const wants = kinds.map(({ demand }) => ({ wanted: demand.wanted(now), recent: demand.recent(now) }));
    const places = allot(wants, most);
    const missing = (at: number): number => places[at]! - kinds[at]!.waiting.length - kinds[at]!.starting;
    for (let starting = sum(kinds, (kind) => kind.starting); starting < atOnce; starting += 1) {
      const [at] = [...kinds.keys()].sort((a, b) => missing(b) - missing(a));
      const kind = at === undefined || missing(at) <= 0 ? undefined : kinds[at];
      if (!kind || (starting + this.waiting() >= most && !this.makeRoom(kinds, places))) return;
      kind.starting += 1;
      this.run(
        this.startOne(kind).finally(() => {
          kind.starting -= 1;
          this.fill();
        }),
      );
    }
  }

  /** Ends the youngest of a kind that has more than its places and was not asked for just now. */
  private makeRoom(kinds: readonly Kind<T>[], places: readonly number[]): boolean {
    const now = this.now();
    const kind = kinds.find(
      ({ waiting, demand }, at) => waiting.length > places[at]! && demand.recent(now) === 0,
    );
    if (!kind) return false;
    this.endSurplus(kind.waiting.splice(-1));
    return true;
  }

  private async startOne(kind: Kind<T>): Promise<void> {
    const { ledger, host, worker, leftBehind, say } = this.settings;
    const { isolation } = this;
    const name = `sf-warm-${randomBytes(8).toString('hex')}`;
    const until = Date.now() + WAIT_MS;
    const expires = until + kind.heldMs;
    try {
      await ledger.sandboxesAhead(worker, [{ name, isolation, host, expiresAt: isoOf(until) }]);
      const ahead = { name, servers: kind.servers, expiresAt: isoOf(expires), labels: { worker } };
      const sandbox = await this.start(ahead).catch((error: unknown) => {
        // Something of it may be there.
        leftBehind({ name, isolation });
        throw error;
      });
      const warm = new Warm(name, sandbox, until, expires, () => ledger.sandboxEnded(name, 'released'));
      this.counts.started += 1;
      if (this.closed) return this.endSurplus([warm]);
      sandbox.onEnd = () => this.died(kind, warm);
      if (sandbox.living) kind.waiting.push(warm);
      else this.died(kind, warm);
      await ledger.sandboxCreated(name);
    } catch (error) {
      if (this.closed) return;
      this.pausedUntil = performance.now() + PAUSE_MS;
      say(`a sandbox was not started ahead: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private died(kind: Kind<T>, warm: Warm<T>): void {
    warm.sandbox.onEnd = undefined;
    kind.waiting = kind.waiting.filter((other) => other !== warm);
    this.counts.died += 1;
    this.settings.say(`sandbox ${warm.name} ended by itself while it waited`);
    // Whatever ended it may end the next one too.
    this.pausedUntil = performance.now() + PAUSE_MS;
    this.run(this.endOne(warm));
  }

  private endSurplus(all: readonly Warm<T>[]): void {
    this.counts.surplus += all.length;
    for (const warm of all) this.run(this.endOne(warm));
  }

  /** Never throws: what does not get through is somebody else's to end. */
  private async endOne(warm: Warm<T>): Promise<void> {
    warm.sandbox.onEnd = undefined;
    try {
      await warm.end();
    } catch {
      this.settings.leftBehind({ name: warm.name, isolation: this.isolation });
    }
  }

  private run(work: Promise<void>): void {
    this.busy.add(work);
    void work.finally(() => this.busy.delete(work));
  }
}

function sum<T>(all: Iterable<T>, of: (one: T) => number): number {
  let total = 0;
  for (const one of all) total += of(one);
  return total;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
