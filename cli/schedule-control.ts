/** `schedule pause`, `unpause`, `trigger`, `backfill`, `delete`. */
import type { Client } from '@temporalio/client';
import { dueTimes } from '../activities/nightly/due.js';
import { UsageError } from '../core/faults.js';
import { type NightRow, nightWorkflowId } from '../core/nightly/schedule.js';
import { QUEUES } from '../temporal.config.js';
import { type StackContext, withStack } from './context.js';
import { EXIT } from './exit.js';
import { printJson, say } from './output.js';
import { deleteFromTemporal, resolveSchedule, withHandle } from './schedule-handle.js';
import { momentOption } from './schedule-timing.js';
import { isStarted } from './temporal-errors.js';

interface ControlOptions {
  readonly json?: boolean;
}

async function withSchedule<T>(
  name: string,
  work: (context: StackContext, client: Client) => Promise<T>,
): Promise<T> {
  return withStack(async (context) => {
    await resolveSchedule(await context.schedules(), name);
    return work(context, await context.temporal());
  });
}

export async function pauseSchedule(
  name: string,
  pause: boolean,
  { json, note }: ControlOptions & { readonly note?: string },
): Promise<void> {
  await withSchedule(name, async (_context, client) => {
    await withHandle(client, name, (handle) => (pause ? handle.pause(note) : handle.unpause(note)));
    if (json) printJson({ name, state: pause ? 'paused' : 'active' });
    say(pause ? `${name} is paused: no night begins. What runs goes on.` : `${name} goes on.`);
  });
}

/** Exit code 1 when a night runs already: then none is begun. */
export async function triggerSchedule(name: string, { json }: ControlOptions): Promise<void> {
  await withSchedule(name, async (_context, client) => {
    const started = await withHandle(client, name, async (handle) => {
      const { info } = await handle.describe();
      const running = info.runningActions[0];
      if (running) return { running: running.workflow.workflowId };
      await handle.trigger('SKIP');
      return { running: null };
    });
    if (json) printJson({ name, triggered: started.running === null, running: started.running });
    if (started.running === null)
      say(`A night of ${name} begins. See it with: steadfast schedule last ${name}`);
    else {
      say(`A night of ${name} runs already (${started.running}); none was begun.`);
      process.exitCode = EXIT.failed;
    }
  });
}

const MOST_NIGHTS = 366;

/** Nights that were due in the range and have no score: those that never ran one after another, the others again. */
export async function backfillSchedule(
  name: string,
  { json, from, to }: ControlOptions & { readonly from: string; readonly to: string },
): Promise<void> {
  const [start, end] = [momentOption('--from', from), momentOption('--to', to)];
  if (start > end) throw new UsageError('--to', `a time after --from, ${from}`, to);
  if (end.getTime() > Date.now()) throw new UsageError('--to', 'a time that is past', to);
  await withSchedule(name, async (context, client) => {
    const due = await dueTimes(client, name, start, end);
    if (due.length > MOST_NIGHTS) {
      throw new UsageError('backfill', `at most ${MOST_NIGHTS} nights`, `${due.length} due in that range`);
    }
    const schedules = await context.schedules();
    const known = (await schedules.nights(name, 10_000)).filter(
      ({ at }) => Date.parse(at) >= start.getTime() && Date.parse(at) <= end.getTime(),
    );
    const again: string[] = [];
    for (const night of known.filter(isUnfinished)) if (await runAgain(client, night)) again.push(night.at);
    if (due.length > 0) {
      await withHandle(client, name, (handle) =>
        // Temporal leaves the very start of a range out: a night at midnight belongs to its day.
        handle.backfill({ start: new Date(start.getTime() - 1), end, overlap: 'BUFFER_ALL' }),
      );
    }
    const done = known.filter(({ state }) => state === 'done').length;
    if (json) printJson({ name, due: due.length, done, again });
    say(
      `${due.length} nights were due, ${done} have a score, ${again.length} run again; the others begin one after another.`,
    );
  });
}

function isUnfinished({ state }: NightRow): boolean {
  return state === 'failed' || state === 'stopped' || state === 'incomplete';
}

/** Temporal starts the same night once; one that had no luck is started by us. False when it runs at this moment. */
async function runAgain(client: Client, { schedule, at }: NightRow): Promise<boolean> {
  try {
    await client.workflow.start('nightly', {
      workflowId: nightWorkflowId({ schedule, at }),
      taskQueue: QUEUES.pipeline,
      args: [{ schedule, at }],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
    });
    return true;
  } catch (error) {
    if (isStarted(error)) return false;
    throw error;
  }
}

export async function deleteSchedule(name: string, { json }: ControlOptions): Promise<void> {
  await withStack(async (context) => {
    const schedules = await context.schedules();
    await resolveSchedule(schedules, name);
    const client = await context.temporal();
    await deleteFromTemporal(client, name);
    await schedules.deleteSchedule(name);
    if (json) printJson({ name, state: 'deleted' });
    say(`${name} is deleted: no night begins any more. Its nights and their evaluations stay.`);
  });
}
