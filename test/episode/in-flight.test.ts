/** What `status` makes of the heartbeats of episodes. */
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { inFlight, inFlightText } from '../../cli/run/in-flight.js';
import type { Pending } from '../../cli/run/troubles.js';

const started = { seconds: 1, nanos: 0 } as unknown as NonNullable<Pending['lastStartedTime']>;
const episode = (details?: unknown): Pending => ({
  activityType: { name: 'runEpisode' },
  lastStartedTime: started,
  ...(details === undefined
    ? {}
    : { heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(details)] } }),
});

test.each([
  ['nothing', [], undefined],
  ['one that has told nothing yet', [episode()], '1 episode in flight'],
  [
    'the furthest is told, and what it streams',
    [
      episode({ turn: 2, tokens: 900 }),
      episode({ turn: 3, tokens: 0 }),
      episode({ turn: 3, tokens: 12 }),
      episode(),
    ],
    '4 episodes in flight, the furthest in turn 3, 12 tokens into it',
  ],
  [
    'a worker of another version',
    [episode({ turn: 4 }), episode('x')],
    '2 episodes in flight, the furthest in turn 4',
  ],
  [
    'what waits for a worker, and other activities',
    [
      { activityType: { name: 'runEpisode' } },
      { activityType: { name: 'saveCheckpoint' }, lastStartedTime: started },
    ],
    '1 waits for a sandbox worker',
  ],
  [
    'some are played, others wait',
    [
      episode({ turn: 1 }),
      { activityType: { name: 'runEpisode' } },
      { activityType: { name: 'runEpisode' } },
    ],
    '1 episode in flight, the furthest in turn 1; 2 wait for a sandbox worker',
  ],
] as [string, Pending[], string | undefined][])('%s', (_name, pending, text) => {
  expect(inFlightText(inFlight(pending))).toBe(text);
});
