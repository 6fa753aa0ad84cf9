/**
 * Pause, unpause and stop: updates with validation on the workflow that a person started; it hands each on to its
 * running children as a signal. A paused workflow finishes what is in flight and starts nothing new.
 */
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
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

interface Child {
  signal(definition: typeof controlSignal, state: ControlState): Promise<void>;
}

/** The control state of one workflow. Construct it first thing, so that no update is missed. */
export class Control {
  #paused = false;
  #stop: ControlState['stop'] = 'no';
  readonly #children = new Set<Child>();
  readonly #scope = new CancellationScope({ cancellable: true });

  constructor(initial?: ControlState) {
    if (initial) this.#set(initial);
    setHandler(controlQuery, () => this.state);
    setHandler(controlSignal, async (state) => {
      await this.#apply(state);
    });
    setHandler(pauseUpdate, () => this.#apply({ ...this.state, paused: true }), {
      validator: () => this.#refuseWhenStopping('pause'),
    });
    setHandler(unpauseUpdate, () => this.#apply({ ...this.state, paused: false }), {
      validator: () => this.#refuseWhenStopping('unpause'),
    });
    setHandler(stopUpdate, (mode) => this.#apply({ paused: false, stop: mode }), {
      validator: (mode) => {
        if (mode !== 'now' && mode !== 'after-step') {
          throw ApplicationFailure.nonRetryable(
            `stop: expected "now" or "after-step", found "${String(mode)}"`,
          );
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

  /** Waits until there is leave to start something new. */
  async clear(): Promise<void> {
    if (this.#paused) await condition(() => !this.#paused || this.stopping);
  }

  /** Paused from inside, e.g. because a step failed; a person unpauses it. */
  pauseSelf(): void {
    this.#paused = true;
  }

  /** Hands control changes on to `child` while `result` is pending. */
  async follow<T>(child: Child, result: Promise<T>): Promise<T> {
    this.#children.add(child);
    try {
      return await result;
    } finally {
      this.#children.delete(child);
    }
  }

  async #apply(next: ControlState): Promise<ControlState> {
    this.#set(next);
    await Promise.all([...this.#children].map((child) => child.signal(controlSignal, this.state)));
    return this.state;
  }

  #set(next: ControlState): void {
    this.#paused = next.paused;
    this.#stop = next.stop;
    if (this.#stop === 'now') this.#scope.cancel();
  }

  #refuseWhenStopping(what: string): void {
    if (this.stopping) throw ApplicationFailure.nonRetryable(`${what}: the run is stopping already`);
  }
}
