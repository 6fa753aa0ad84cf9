/** A schedule as the command line finds it: in the ledger by its name, and in Temporal under the same one. */
import {
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
} from '@temporalio/client';
import { UsageError } from '../core/faults.js';
import { nearestFew } from '../core/nearest.js';
import {
  nightWorkflowPrefix,
  type ScheduleConfig,
  type ScheduleRow,
  type Schedules,
} from '../core/nightly/schedule.js';
import { QUEUES } from '../temporal.config.js';

/** Throws `UsageError` that names the nearest. */
export async function resolveSchedule(schedules: Schedules, name: string): Promise<ScheduleRow> {
  const row = await schedules.schedule(name);
  if (row && row.deletedAt === null) return row;
  const names = (await schedules.schedules()).map((each) => each.name);
  const near = nearestFew(name, names, 3);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : known(names);
  throw new UsageError('schedule', 'a known schedule', `"${name}"${row ? ', which was deleted' : ''}`, hint);
}

function known(names: readonly string[]): string {
  return names.length > 0 ? `Known: ${names.slice(0, 5).join(', ')}` : 'There is none yet.';
}

/** What Temporal says of it; undefined when it does not know it. */
export async function describeSchedule(
  client: Client,
  name: string,
): Promise<ScheduleDescription | undefined> {
  try {
    return await client.schedule.getHandle(name).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** Runs `work` on the schedule in Temporal. Throws `UsageError` when Temporal has lost it, with what brings it back. */
export async function withHandle<T>(
  client: Client,
  name: string,
  work: (handle: ScheduleHandle) => Promise<T>,
): Promise<T> {
  try {
    return await work(client.schedule.getHandle(name));
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    throw new UsageError(
      `schedule ${name}`,
      'a schedule that Temporal has',
      'none, though the ledger knows it',
      'Create it again with the same options.',
    );
  }
}

/** One that Temporal does not know is deleted already. */
export async function deleteFromTemporal(client: Client, name: string): Promise<void> {
  try {
    await client.schedule.getHandle(name).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

/** What Temporal is asked to keep. Overlap: a night that is due while one runs is left out. */
export function temporalOptions(name: string, { timing }: ScheduleConfig) {
  return {
    spec: { cronExpressions: [timing.cron], timezone: timing.timezone, jitter: timing.jitterMs },
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'nightly',
      workflowId: nightWorkflowPrefix(name),
      taskQueue: QUEUES.pipeline,
      args: [{ schedule: name }],
    },
    policies: { overlap: 'SKIP' as const, catchupWindow: timing.catchUpMs },
  };
}
