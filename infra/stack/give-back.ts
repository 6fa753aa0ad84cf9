/**
 * What a dead worker still held is given back to Temporal, to be run again at once. Without it Temporal waits until
 * the heartbeats run out (20 s), with every lane taken by work that nobody does.
 *
 * Only the supervisor may say this: it knows the process by id and start time, and has seen it gone.
 */
import { hostname } from 'node:os';
import type { Client } from '@temporalio/client';
import { NAMESPACE } from '../../temporal.config.js';

/** `PENDING_ACTIVITY_STATE_STARTED` of Temporal's API. */
const STARTED = 2;
const CONNECT = '2s';
/** All of it; a Temporal that is slower than that has heartbeats for the rest. */
const LIMIT_MS = 10_000;

/** Of the worker `host:pid` of this machine, which is dead; returns how many. Throws when Temporal does not answer. */
export async function giveBack(address: string, identity: string): Promise<number> {
  // Loaded here: a supervisor whose workers never die needs none of it.
  const { Client, Connection } = await import('@temporalio/client');
  const connection = await Connection.connect({ address, connectTimeout: CONNECT });
  try {
    const client = new Client({ connection, namespace: NAMESPACE });
    return await client.withDeadline(Date.now() + LIMIT_MS, () => failHeld(client, identity));
  } finally {
    await connection.close();
  }
}

async function failHeld(client: Client, identity: string): Promise<number> {
  let given = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const held = (raw.pendingActivities ?? []).filter(
      ({ state, lastWorkerIdentity }) => state === STARTED && lastWorkerIdentity === identity,
    );
    await Promise.all(
      held.map(({ activityId }) =>
        client.workflowService.respondActivityTaskFailedById({
          namespace: NAMESPACE,
          workflowId,
          runId,
          activityId: activityId ?? '',
          identity: `supervisor@${hostname()}`,
          failure: {
            message: `the worker ${identity} was lost`,
            applicationFailureInfo: { type: 'WorkerLost', nonRetryable: false },
          },
        }),
      ),
    );
    given += held.length;
  }
  return given;
}
