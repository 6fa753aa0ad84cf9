/** Whether somebody plays what is asked of a named pool: a queue that nobody polls would keep a campaign for ever. */
import { UsageError } from '../../core/faults.js';
import { poolQueue } from '../../core/sharing.js';
import { QUEUES } from '../../temporal.config.js';
import type { StackContext } from '../context.js';

/** `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's API. */
const ACTIVITY = 2;

/** Throws `UsageError` for a pool without a worker. That without a name is the stack's own, and not asked for. */
export async function requirePool(context: StackContext, pool: string | null | undefined): Promise<void> {
  if (pool == null || (await poolWorkers(context, pool)).length > 0) return;
  throw new UsageError(
    `pool ${pool}`,
    'a sandbox worker that polls it',
    'none',
    `Start one: STEADFAST_POOL=${pool} steadfast workers sandbox (docs/sandboxes.md, Remote pools)`,
  );
}

/** Identities, `host:pid`, of those that have polled in the last minutes. */
async function poolWorkers(context: StackContext, pool: string): Promise<readonly string[]> {
  const { workflowService, options } = await context.temporal();
  const { pollers } = await workflowService.describeTaskQueue({
    namespace: options.namespace,
    taskQueue: { name: poolQueue(QUEUES.sandbox, pool) },
    taskQueueType: ACTIVITY,
  });
  return (pollers ?? []).map(({ identity }) => identity ?? '');
}
