/** When a schedule was due, asked of Temporal: it alone reads cron texts, time zones and jitter. */
import type { Client } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { missedTimes } from '../../core/nightly/gaps.js';
import type { NightRow, ScheduleRow } from '../../core/nightly/schedule.js';

/**
 * Times since the schedule was made as it is now at which no night ran, oldest first. Empty when Temporal does not
 * know the schedule (any more). Throws when it does not answer.
 */
export async function missedNights(
  client: Client,
  { name, config, createdAt, deletedAt }: ScheduleRow,
  nights: readonly NightRow[],
  now: Date = new Date(),
): Promise<readonly string[]> {
  if (deletedAt !== null) return [];
  const { jitterMs } = config.timing;
  const to = new Date(now.getTime() - jitterMs - START_MS);
  const from = new Date(createdAt);
  if (from >= to) return [];
  try {
    return missedTimes(await dueTimes(client, name, from, to), nights, jitterMs);
  } catch (error) {
    if ((error as { code?: number }).code === NOT_FOUND) return [];
    throw error;
  }
}

/** Times from `from` to `to` at which the schedule is due, as it is now, jitter included; oldest first. */
export async function dueTimes(
  client: Client,
  name: string,
  from: Date,
  to: Date,
): Promise<readonly string[]> {
  const { startTime } = await client.workflowService.listScheduleMatchingTimes({
    namespace: client.options.namespace,
    scheduleId: name,
    // Temporal leaves the very start of a range out.
    startTime: msToTs(from.getTime() - 1),
    endTime: msToTs(to.getTime()),
  });
  return startTime.map((time) => new Date(tsToMs(time)).toISOString());
}

/** What is due now has so long to begin before it counts as missed. */
const START_MS = 30_000;
/** gRPC status. */
const NOT_FOUND = 5;
