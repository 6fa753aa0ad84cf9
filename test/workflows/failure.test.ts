/** Which of the messages around a failure a person reads. */
import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { asFailure } from '../../activities/failures.js';
import { Fault } from '../../core/faults.js';
import { causeOf } from '../../workflows/failure.js';

const lost = new Error('fetch failed', { cause: new Error('ECONNREFUSED') });
const fault = new Fault('policy', 'policy endpoint http://host/v1: no reply', { cause: lost });

test('the words of the fault, not those of its cause nor of what Temporal puts around it', () => {
  const activity = new ActivityFailure(
    'Activity task failed',
    'proveParity',
    '1',
    'MAXIMUM_ATTEMPTS_REACHED',
    'vm:1',
    asFailure(fault) as ApplicationFailure,
  );
  const child = new ChildWorkflowFailure(
    'default',
    { workflowId: 'w', runId: 'r' },
    'attemptShard',
    'RETRY_POLICY_NOT_SET',
    activity,
  );
  expect(causeOf(child)).toBe('policy endpoint http://host/v1: no reply');
});

test('one line of anything else', () => {
  expect(causeOf(new Error('a\nb'))).toBe('a');
  expect(causeOf('a word')).toBe('a word');
  expect(causeOf(ApplicationFailure.nonRetryable('x', 'usage'))).toBe('x');
});
