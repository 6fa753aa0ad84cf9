/** Our typed errors as Temporal failures, at the edge of every activity. */
import { ApplicationFailure } from '@temporalio/common';
import { Fault, UsageError } from '../core/faults.js';

/** Temporal retries every thrown error; a fault that says "do not", and bad input, have to say so in its words. */
export function asFailure(error: unknown): unknown {
  if (error instanceof UsageError) return ApplicationFailure.nonRetryable(error.message, 'usage');
  if (!(error instanceof Fault)) return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.code ? `${error.kind}:${error.code}` : error.kind,
    nonRetryable: !error.retry,
    cause: error,
  });
}
