/**
 * For activities that need no tidying up: when their worker goes away and the grace is over they are given back at once,
 * whatever they are waiting for. What they had begun may still be done; each of them may be done again.
 */
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { asStopped } from '../activities/failures.js';

export function leaving({
  cancellationSignal: signal,
}: Pick<Context, 'cancellationSignal'>): ActivityInterceptors {
  return {
    inbound: {
      execute: (input, next) =>
        new Promise((resolve, reject) => {
          const leave = () => {
            const stopped = asStopped(signal);
            // Stopped on request, an activity ends as it sees fit.
            if (stopped !== signal.reason) reject(stopped);
          };
          signal.addEventListener('abort', leave);
          if (signal.aborted) leave();
          next(input).then(resolve, reject);
        }),
    },
  };
}
