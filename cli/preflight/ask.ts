/** Questions to hosts through Temporal: who polls a queue, and one answer from one host. */
import { randomBytes } from 'node:crypto';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ActivityFailure, TimeoutFailure, TimeoutType } from '@temporalio/common';
import type { HostQuestion } from '../../core/cluster.js';
import { QUEUES } from '../../temporal.config.js';

/** By Temporal's own numbers of `TaskQueueType`. */
const QUEUE_TYPES = { workflows: 1, activities: 2 } as const;

/**
 * Whether any worker has polled the queue in the last minutes: Temporal remembers one for some time after its end, so
 * "yes" is no proof that it still lives.
 */
export async function isPolled(
  client: Client,
  queue: string,
  type: keyof typeof QUEUE_TYPES,
): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: QUEUE_TYPES[type],
  });
  return (pollers ?? []).length > 0;
}

/** Why a host has not answered, for people. */
export class HostSilent extends Error {
  override readonly name = 'HostSilent';
}

/** The host's answer. Throws `HostSilent` where it did not take the question up, died over it, or failed. */
export async function askHost<T>(client: Client, run: string, question: HostQuestion): Promise<T> {
  const { host, activity } = question;
  const workflowId = `preflight/${run}/${host}/${activity}-${randomBytes(4).toString('hex')}`;
  try {
    return (await client.workflow.execute('askHost', {
      workflowId,
      taskQueue: QUEUES.pipeline,
      args: [question],
    })) as T;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    throw new HostSilent(reason(error.cause), { cause: error });
  }
}

function reason(error: Error | undefined): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    return cause.timeoutType === TimeoutType.SCHEDULE_TO_START
      ? 'its worker does not take anything up'
      : 'its worker took the question up and was not heard of again';
  }
  return cause?.message.split('\n')[0] ?? 'no reason was given';
}
