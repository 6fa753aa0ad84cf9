/**
 * Is a server alive? A completion says so; where it queues behind others, so do tokens that are being written. One that
 * neither answers nor writes for the time of `hungMs` hangs: it was stopped, or accepts requests and does nothing.
 */
import { Fault } from '../../core/faults.js';
import type { ServingTimes } from '../../core/serving/times.js';
import { canary, tokensSoFar } from './canary.js';

type Facts = Omit<Parameters<typeof canary>[0], 'timeoutMs'>;

export class Health {
  private last: number;
  private asked: number;
  private asking = false;
  private unwell = false;
  private tokens: number | undefined;
  private fault: unknown;
  private readonly ending = new AbortController();
  private readonly signal: AbortSignal;

  constructor(
    private readonly times: ServingTimes,
    private readonly facts: Facts,
    signal: AbortSignal,
    /** Called when it stops answering, with what came instead, and with null when it answers again. */
    private readonly changed: (problem: string | null) => Promise<void>,
    private readonly now: () => number = Date.now,
  ) {
    this.last = now();
    this.asked = this.last;
    this.signal = AbortSignal.any([signal, this.ending.signal]);
  }

  /** Asks when it is time to, without waiting for the answer. Throws what an answer said, and `hung`. */
  look(): void {
    if (this.fault !== undefined) throw this.fault;
    const { healthEveryMs, hungMs } = this.times;
    const now = this.now();
    if (now - this.last > hungMs) {
      const message = `neither a completion nor a token in ${Math.round((now - this.last) / 1_000)} s: it hangs`;
      throw new Fault('trainer', message, { code: 'hung' });
    }
    if (this.asking || now - this.asked < healthEveryMs) return;
    this.asked = now;
    this.asking = true;
    this.ask()
      .catch((error: unknown) => {
        if (!this.signal.aborted) this.fault = error;
      })
      .finally(() => {
        this.asking = false;
      });
  }

  /** A question has no answer yet. */
  get waits(): boolean {
    return this.asking;
  }

  /** No question is left open. */
  end(): void {
    this.ending.abort();
  }

  private async ask(): Promise<void> {
    const { canaryMs } = this.times;
    try {
      await canary({ ...this.facts, timeoutMs: canaryMs }, this.signal);
      await this.alive();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'no_answer') throw error;
      const tokens = await tokensSoFar(this.facts.origin, canaryMs, this.signal);
      const writes = tokens !== undefined && this.tokens !== undefined && tokens > this.tokens;
      this.tokens = tokens ?? this.tokens;
      if (writes) await this.alive();
      else if (!this.unwell) {
        this.unwell = true;
        await this.changed(`no_answer: ${error.message}`);
      }
    }
  }

  private async alive(): Promise<void> {
    this.last = this.now();
    if (!this.unwell) return;
    this.unwell = false;
    await this.changed(null);
  }
}
