/** Activities that talk to a trainer: they heartbeat while they wait, and wait for one that is being restarted. */
import { Context } from '@temporalio/activity';
import { HEARTBEAT, TRAINER_WAIT_MS } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';
import { isUnreachable } from './attach.js';

const POLL_MS = 500;

/**
 * Runs `body` with heartbeats on a timer. While the trainer does not answer (`unreachable`) it is asked again until
 * `TRAINER_WAIT_MS`. A fault that no retry can help becomes a non-retryable failure; everything else Temporal retries.
 */
export async function withTrainer<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { cancellationSignal: signal } = context;
  const heart = setInterval(() => context.heartbeat(), HEARTBEAT.everyMs);
  const deadline = Date.now() + TRAINER_WAIT_MS;
  try {
    for (;;) {
      try {
        return await body(signal);
      } catch (error) {
        if (signal.aborted) throw error;
        if (!isUnreachable(error) || Date.now() > deadline) throw asFailure(error);
        await context.sleep(POLL_MS);
      }
    }
  } catch (error) {
    throw signal.aborted ? asStopped(signal) : error;
  } finally {
    clearInterval(heart);
  }
}
