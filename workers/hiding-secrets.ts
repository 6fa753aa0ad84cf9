/** What an activity fails with goes to a history: without the secrets that this process has used, whoever threw it. */
import type { ActivityInterceptors } from '@temporalio/worker';
import { hideInError } from '../core/secrets.js';

export function hidingSecrets(): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          hideInError(error);
          throw error;
        }
      },
    },
  };
}
