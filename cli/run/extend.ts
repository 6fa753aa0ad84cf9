/** More steps for a training run, whether it runs or has ended. Its configuration, and so its name, stay what they were. */
import type { TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import type { CampaignRow } from '../../core/ledger.js';
import { stepsInAll } from '../../core/stage-configs.js';
import type { StackContext } from '../context.js';
import { updated } from '../temporal-errors.js';
import { hasEnded, notedLanes, notedPlace, startWorkflow } from './launch.js';

/**
 * Raises the number of steps to `to`. A run that has ended is started again, after what it is to do is written down.
 * Throws `UsageError` for a campaign of another kind, and for a number that is not larger than today's.
 */
export async function extendRun(context: StackContext, row: CampaignRow, to: number): Promise<number> {
  const place = `extend ${row.id}`;
  if (row.kind !== 'train') throw new UsageError(place, 'a training run', `a campaign of kind ${row.kind}`);
  if ((row.config as TrainConfig).trainer?.kind === 'verl') {
    const fix = "Start another run from its model: the number of steps is part of Verl's configuration.";
    throw new UsageError(place, 'a run whose steps are our own', 'one that Verl trains as one job', fix);
  }
  const extended = hasEnded(row) ? undefined : await updateRunning(context, row.id, to);
  if (extended !== undefined) return extended;
  const steps = stepsInAll(row.config as TrainConfig, row.result);
  if (to <= steps) throw new UsageError(place, `more than ${steps} steps`, String(to));
  await (await context.ledger()).noteOnCampaign(row.id, { extendedTo: to, solvedAt: null }, 'running');
  await startWorkflow(context, row.id, 'train', notedLanes(row), { ended: true, place: notedPlace(row) });
  return to;
}

/** Undefined when no workflow of that id runs. */
async function updateRunning(context: StackContext, id: string, to: number): Promise<number | undefined> {
  const handle = (await context.temporal()).workflow.getHandle(id);
  const done = await updated(`extend ${id}`, () =>
    handle.executeUpdate<number, [number]>('extend', { args: [to] }),
  );
  return done?.answer;
}
