/**
 * Heartbeats of activities that send none of their own, on a timer: a worker that was killed in the middle of one is
 * then missed after `HEARTBEAT.timeoutMs`, not when the activity's longest allowed time is over.
 */
import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { HEARTBEAT } from '../temporal.config.js';

export function heartbeats(
  context: Pick<Context, 'heartbeat'>,
  everyMs: number = HEARTBEAT.everyMs,
): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        const heart = setInterval(() => context.heartbeat(), everyMs);
        try {
          return await next(input);
        } finally {
          clearInterval(heart);
        }
      },
    },
  };
}
