/**
 * Pause, unpause, stop, another number of lanes, another priority or pool: updates with validation on the workflow that
 * a person started; it hands each on to its running children as a signal. A paused workflow finishes what is in flight and starts
 * nothing new; so does one with more in flight than it now has lanes.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  log,
  setHandler,
} from '@temporalio/workflow';
import {
  isPoolName,
  isPriority,
  type Place,
  POOL_FORM,
  PRIORITIES,
  type Priority,
  placeOf,
} from '../core/sharing.js';
import { MAX_LANES } from '../temporal.config.js';
import type { LaneWidth } from './lanes.js';

export interface ControlState extends Place {
  readonly paused: boolean;
  /** `now` cancels what is in flight; `after-step` lets the running training step finish. */
  readonly stop: 'no' | 'after-step' | 'now';
  /** Episodes in flight, where a person has changed it; absent: as the workflow was started. */
  readonly lanes?: number;
}

export const pauseUpdate = defineUpdate<ControlState>('pause');
export const unpauseUpdate = defineUpdate<ControlState>('unpause');
export const stopUpdate = defineUpdate<ControlState, ['after-step' | 'now']>('stop');
/** Another number of episodes in flight, from the next attempt on. */
export const lanesUpdate = defineUpdate<ControlState, [number]>('lanes');
/** Other priority, from the next try on. */
export const priorityUpdate = defineUpdate<ControlState, [Priority]>('priority');
/** Other pool, from the next try on; null: the workers of no named one. */
export const poolUpdate = defineUpdate<ControlState, [string | null]>('pool');
export const controlSignal = defineSignal<[ControlState]>('control');
export const controlQuery = defineQuery<ControlState & { readonly lanes: number }>('control-state');

interface Child<R> {
  signal(definition: typeof controlSignal, state: ControlState): Promise<void>;
  result(): Promise<R>;
}

/** The part of a child: of `lanes` in all, how many are its own. */
type Share = (lanes: number) => number;

const ALL: Share = (lanes) => lanes;

interface Followed {
  readonly share: Share;
  told: ControlState;
}

/** Writes down that the campaign is paused, or goes on. For workflows that have a row of their own in the ledger. */
export type RecordPause = (paused: boolean) => Promise<unknown>;

export interface ControlOptions {
  /** Episodes in flight as the workflow was started. */
  readonly lanes: number;
  /** Of the workflow that started this one, or carried over from the execution before. */
  readonly initial?: ControlState | undefined;
  readonly record?: RecordPause;
}

/** The control state of one workflow. Construct it first thing, so that no update is missed. */
export class Control implements LaneWidth {
  #lanes: number;
  #lanesChanged = false;
  #change = signpost();
  #paused = false;
  #recorded = false;
  #stop: ControlState['stop'] = 'no';
  #place: Place = {};
  #ending = false;
  #opened = false;
  #recording: Promise<void> | undefined;
  readonly #record: RecordPause | undefined;
  readonly #children = new Map<Child<unknown>, Followed>();
  readonly #scope = new CancellationScope({ cancellable: true });

  constructor({ lanes, initial, record }: ControlOptions) {
    this.#lanes = lanes;
    this.#record = record;
    if (initial) this.#set(initial);
    // Whoever cancels the workflow itself means `stop now`.
    CancellationScope.current().cancelRequested.catch(() => this.#apply({ paused: false, stop: 'now' }));
    setHandler(controlQuery, () => ({ ...this.state, lanes: this.#lanes }));
    setHandler(controlSignal, async (state) => {
      if (!this.#ending) await this.#apply(state);
    });
    setHandler(pauseUpdate, () => this.#apply({ ...this.state, paused: true }), {
      validator: () => this.refuseWhenEnding('pause'),
    });
    setHandler(unpauseUpdate, () => this.#apply({ ...this.state, paused: false }), {
      validator: () => this.refuseWhenEnding('unpause'),
    });
    setHandler(stopUpdate, (mode) => this.#apply({ paused: false, stop: this.stoppingNow ? 'now' : mode }), {
      validator: (mode) => {
        if (this.#ending) throw refusal('stop', 'the run is ending');
        if (mode !== 'now' && mode !== 'after-step') {
          throw refusal('stop', `expected "now" or "after-step", found ${JSON.stringify(mode)}`);
        }
      },
    });
    setHandler(lanesUpdate, (to) => this.#apply({ ...this.state, lanes: to }), {
      validator: (to) => {
        this.refuseWhenEnding('lanes');
        if (!Number.isSafeInteger(to) || to < 1 || to > MAX_LANES) {
          throw refusal(
            'lanes',
            `expected a whole number from 1 to ${MAX_LANES}, found ${JSON.stringify(to)}`,
          );
        }
      },
    });
    setHandler(priorityUpdate, (priority) => this.#apply({ ...this.state, priority }), {
      validator: (priority) => {
        this.refuseWhenEnding('priority');
        if (!isPriority(priority)) {
          throw refusal('priority', `expected ${PRIORITIES.join(', ')}, found ${JSON.stringify(priority)}`);
        }
      },
    });
    setHandler(poolUpdate, (pool) => this.#apply({ ...this.state, pool }), {
      validator: (pool) => {
        this.refuseWhenEnding('pool');
        if (pool !== null && !isPoolName(pool)) {
          throw refusal('pool', `expected ${POOL_FORM}, found ${JSON.stringify(pool)}`);
        }
      },
    });
  }

  get state(): ControlState {
    const lanes = this.#lanesChanged ? { lanes: this.#lanes } : {};
    return { paused: this.#paused, stop: this.#stop, ...lanes, ...this.#place };
  }

  /** Episodes that may be in flight, whether or not it is paused. */
  get lanes(): number {
    return this.#lanes;
  }

  /** What a person has asked for; children of another kind have their own usual. */
  get place(): Place {
    return this.#place;
  }

  /** How many may be in flight now: none more while paused. A stop leaves room, so that who waits for it learns of it. */
  get now(): number {
    if (this.stopping) return Math.max(1, this.#lanes);
    return this.#paused ? 0 : this.#lanes;
  }

  /** Settles at the next change of any kind. */
  get changed(): Promise<void> {
    return this.#change.reached;
  }

  get stopping(): boolean {
    return this.#stop !== 'no';
  }

  get stoppingNow(): boolean {
    return this.#stop === 'now';
  }

  /** Runs `body` so that `stop now` cancels it. */
  run<T>(body: () => Promise<T>): Promise<T> {
    return this.#scope.run(body);
  }

  /** As `run`, but undefined when `stop now` has ended it. */
  async unlessStopped<T>(body: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.run(body);
    } catch (error) {
      if (isCancellation(error) && this.stoppingNow) return undefined;
      throw error;
    }
  }

  /** Waits until there is leave to start something new. */
  async clear(): Promise<void> {
    if (this.#paused) await condition(() => !this.#paused || this.stopping);
  }

  /** Paused from inside, e.g. because a step failed; a person unpauses it. */
  async pauseSelf(): Promise<void> {
    this.#paused = true;
    this.#moved();
    await this.#announce();
  }

  /** The other way round, where what it waited for was decided. */
  async unpauseSelf(): Promise<void> {
    this.#paused = false;
    this.#moved();
    await this.#announce();
  }

  /**
   * The campaign's row says that it runs: from now on pauses are written down. Before, a pause could be overwritten by
   * the first write of a workflow that is just beginning.
   */
  async opened(): Promise<void> {
    this.#opened = true;
    await this.#announce();
  }

  /** Brings the recorded state up to date. */
  #announce(): Promise<void> {
    this.#recording ??= this.#recordChanges().finally(() => {
      this.#recording = undefined;
    });
    return this.#recording;
  }

  /**
   * Starts a child and waits for its result; control changes are handed on to it while it runs. `start` gives it
   * today's state; what changed until it had started is told it then. `share`: its part of the lanes.
   */
  async follow<R>(start: (state: ControlState) => Promise<Child<R>>, share: Share = ALL): Promise<R> {
    const told = this.#stateOf(share);
    const child = await start(told);
    this.#children.set(child, { share, told });
    try {
      if (differs(told, this.#stateOf(share))) await this.#tell(child);
      return await child.result();
    } finally {
      this.#children.delete(child);
    }
  }

  /** Where a person has changed the lanes: children whose share is another by now are told it. */
  async shareAgain(): Promise<void> {
    if (!this.#lanesChanged) return;
    const stale = [...this.#children].filter(([, { share, told }]) => differs(told, this.#stateOf(share)));
    await Promise.all(stale.map(([child]) => this.#tell(child)));
  }

  /** Refuses every change from now on, and waits for those that were taken: nothing is written after the end. */
  async close(): Promise<void> {
    this.#ending = true;
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  }

  /** For validators: a run that ends cannot take changes. */
  refuseWhenEnding(what: string): void {
    if (this.#ending) throw refusal(what, 'the run is ending');
    if (this.stopping) throw refusal(what, 'the run is stopping already');
  }

  async #apply(next: ControlState): Promise<ControlState> {
    this.#set(next);
    await Promise.all([...[...this.#children.keys()].map((child) => this.#tell(child)), this.#announce()]);
    return this.state;
  }

  /**
   * In a scope of its own: the request to cancel a child that has not started yet fails, so `stop now` has to reach it
   * as a signal. A child that has closed meanwhile cannot be told, and need not be: its result is on its way.
   */
  async #tell(child: Child<unknown>): Promise<void> {
    const followed = this.#children.get(child);
    const state = this.#stateOf(followed?.share ?? ALL);
    if (followed) followed.told = state;
    try {
      await CancellationScope.nonCancellable(() => child.signal(controlSignal, state));
    } catch (error) {
      log.info('a child ended before it could be told of a change', { error });
    }
  }

  #stateOf(share: Share): ControlState {
    const { lanes, ...state } = this.state;
    return lanes === undefined ? state : { ...state, lanes: share(lanes) };
  }

  #set(next: ControlState): void {
    this.#paused = next.paused;
    this.#stop = next.stop;
    this.#place = { ...this.#place, ...placeOf(next) };
    if (next.lanes !== undefined) {
      this.#lanes = next.lanes;
      this.#lanesChanged = true;
    }
    this.#moved();
    if (this.#stop === 'now') this.#scope.cancel();
  }

  #moved(): void {
    this.#change.reach();
    this.#change = signpost();
  }

  /** One write at a time, so that the last one is the newest. */
  async #recordChanges(): Promise<void> {
    if (this.#record) await CancellationScope.nonCancellable(() => condition(() => this.#opened));
    while (this.#record && this.#recorded !== this.#paused) {
      const paused = this.#paused;
      await CancellationScope.nonCancellable(async () => this.#record?.(paused));
      this.#recorded = paused;
    }
  }
}

function differs(a: ControlState, b: ControlState): boolean {
  const flow = a.paused !== b.paused || a.stop !== b.stop || a.lanes !== b.lanes;
  return flow || a.priority !== b.priority || a.pool !== b.pool;
}

/** A promise, and the function that settles it. */
function signpost(): { readonly reached: Promise<void>; readonly reach: () => void } {
  let reach = (): void => undefined;
  const reached = new Promise<void>((done) => {
    reach = done;
  });
  return { reached, reach };
}

function refusal(what: string, why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`${what}: ${why}`);
}
