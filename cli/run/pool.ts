/** Whether somebody plays what is asked of a named pool: a queue that nobody polls would keep a campaign for ever. */
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../core/faults.js';
import { poolQueue } from '../../core/sharing.js';
import { QUEUES } from '../../temporal.config.js';
import type { StackContext } from '../context.js';

/** `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's API. */
const ACTIVITY = 2;

/** A worker that was started a moment ago is heard of a little later. */
const PATIENCE_MS = 3_000;
const AGAIN_MS = 250;

/** Throws `UsageError` for a pool without a worker. That without a name is the stack's own, and not asked for. */
export async function requirePool(context: StackContext, pool: string | null | undefined): Promise<void> {
  if (pool == null) return;
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await sleep(AGAIN_MS)) {
    if ((await poolWorkers(context, pool)).length > 0) return;
  }
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
