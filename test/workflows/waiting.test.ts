/** How an activity that talks to a trainer ends: with its result, with a typed failure, or because it was stopped. */
import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { withTrainer } from '../../activities/trainer/waiting.js';
import { Fault } from '../../core/faults.js';

const unreachable = () => new Fault('trainer', 'nobody there', { code: 'unreachable' });

function run<T>(body: (signal: AbortSignal) => Promise<T>, environment = new MockActivityEnvironment()) {
  return environment.run(() => withTrainer(body));
}

/** Settles when the signal aborts, as a request of ours does. */
const hanging = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

describe('an activity beside the trainer', () => {
  it('asks a trainer that is being started again until it answers', async () => {
    let asked = 0;
    const answer = await run(async () => {
      asked++;
      if (asked < 3) throw unreachable();
      return 'here';
    });
    expect([answer, asked]).toEqual(['here', 3]);
  });

  it('says of a refusal that no retry helps', async () => {
    const refused = run(async () => {
      throw new Fault('trainer', 'another base', { code: 'stale_base', retry: false });
    });
    await expect(refused).rejects.toMatchObject({ nonRetryable: true, type: 'trainer:stale_base' });
  });

  it.each([
    ['at work', hanging],
    [
      'waiting',
      async () => {
        throw unreachable();
      },
    ],
  ] as const)(
    '%s: stopped on request it is cancelled; stopped with its worker it is run again',
    async (_name, body) => {
      const stop = (reason: 'CANCELLED' | 'WORKER_SHUTDOWN') => {
        const environment = new MockActivityEnvironment();
        const running = run(body, environment);
        setTimeout(() => environment.cancel(reason), 20);
        return running;
      };
      await expect(stop('CANCELLED')).rejects.toBeInstanceOf(CancelledFailure);
      const failure = await stop('WORKER_SHUTDOWN').catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ApplicationFailure);
      expect(failure).toMatchObject({ nonRetryable: false, type: 'WorkerShutdown' });
    },
  );
});
