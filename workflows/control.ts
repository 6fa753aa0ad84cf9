/**
 * Pause, unpause and stop: updates with validation on the workflow that a person started; it hands each on to its
 * running children as a signal. A paused workflow finishes what is in flight and starts nothing new.
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

export interface ControlState {
  readonly paused: boolean;
  /** `now` cancels what is in flight; `after-step` lets the running training step finish. */
  readonly stop: 'no' | 'after-step' | 'now';
}

export const pauseUpdate = defineUpdate<ControlState>('pause');
export const unpauseUpdate = defineUpdate<ControlState>('unpause');
export const stopUpdate = defineUpdate<ControlState, ['after-step' | 'now']>('stop');
export const controlSignal = defineSignal<[ControlState]>('control');
export const controlQuery = defineQuery<ControlState>('control-state');

interface Child<R> {
  signal(definition: typeof controlSignal, state: ControlState): Promise<void>;
  result(): Promise<R>;
}

/** Writes down that the campaign is paused, or goes on. For workflows that have a row of their own in the ledger. */
export type RecordPause = (paused: boolean) => Promise<unknown>;

/** The control state of one workflow. Construct it first thing, so that no update is missed. */
export class Control {
  #paused = false;
  #recorded = false;
  #stop: ControlState['stop'] = 'no';
  #ending = false;
  #opened = false;
  #recording: Promise<void> | undefined;
  readonly #record: RecordPause | undefined;
  readonly #children = new Set<Child<unknown>>();
  readonly #scope = new CancellationScope({ cancellable: true });

  constructor(initial?: ControlState, record?: RecordPause) {
    this.#record = record;
    if (initial) this.#set(initial);
    // Whoever cancels the workflow itself means `stop now`.
    CancellationScope.current().cancelRequested.catch(() => this.#apply({ paused: false, stop: 'now' }));
    setHandler(controlQuery, () => this.state);
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
  }

  get state(): ControlState {
    return { paused: this.#paused, stop: this.#stop };
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
    await this.#announce();
  }

  /** The other way round, where what it waited for was decided. */
  async unpauseSelf(): Promise<void> {
    this.#paused = false;
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
   * today's state; what changed until it had started is told it then.
   */
  async follow<R>(start: (state: ControlState) => Promise<Child<R>>): Promise<R> {
    const told = this.state;
    const child = await start(told);
    this.#children.add(child);
    try {
      const { paused, stop } = this.state;
      if (paused !== told.paused || stop !== told.stop) await this.#tell(child);
      return await child.result();
    } finally {
      this.#children.delete(child);
    }
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
    await Promise.all([...[...this.#children].map((child) => this.#tell(child)), this.#announce()]);
    return this.state;
  }

  /**
   * In a scope of its own: the request to cancel a child that has not started yet fails, so `stop now` has to reach it
   * as a signal. A child that has closed meanwhile cannot be told, and need not be: its result is on its way.
   */
  async #tell(child: Child<unknown>): Promise<void> {
    try {
      await CancellationScope.nonCancellable(() => child.signal(controlSignal, this.state));
    } catch (error) {
      log.info('a child ended before it could be told of a change', { error });
    }
  }

  #set(next: ControlState): void {
    this.#paused = next.paused;
    this.#stop = next.stop;
    if (this.#stop === 'now') this.#scope.cancel();
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

function refusal(what: string, why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`${what}: ${why}`);
}
