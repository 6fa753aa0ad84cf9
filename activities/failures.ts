/** Our typed errors as Temporal failures, at the edge of every activity. */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { Fault, UsageError } from '../core/faults.js';
import { hideInError } from '../core/secrets.js';

/** Temporal retries every thrown error; a fault that says "do not", and bad input, have to say so in its words. */
export function asFailure(error: unknown): unknown {
  hideInError(error);
  if (error instanceof UsageError) return ApplicationFailure.nonRetryable(error.message, 'usage');
  if (!(error instanceof Fault)) return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.code ? `${error.kind}:${error.code}` : error.kind,
    nonRetryable: !error.retry,
    cause: error,
  });
}

/**
 * What an activity throws whose signal was aborted. Stopped on request it is a `CancelledFailure`; stopped because this
 * worker goes away it is to be run again at once: Temporal takes no cancellation that it did not ask for, and would
 * wait for the heartbeat to run out.
 */
export function asStopped(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  if (reason instanceof CancelledFailure && reason.message !== 'WORKER_SHUTDOWN') return reason;
  return ApplicationFailure.retryable('the worker is shutting down', 'WorkerShutdown');
}
