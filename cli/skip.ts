/** `steadfast skip RUN --step N`: leave a failed step out; the run goes on with the next one. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import type { CampaignRow } from '../core/ledger.js';
import { type StackContext, withStack } from './context.js';
import { printJson, say } from './output.js';
import { resolveRun, resolveStep } from './run/find.js';
import { hasEnded, notedLanes, notedPlace, startWorkflow } from './run/launch.js';
import { integer, LIMITS } from './run/options.js';
import { updated } from './temporal-errors.js';

/** A run that was started again for this is asked until it has opened. */
const OPENING_MS = 60_000;
const ASK_EVERY_MS = 500;

export function registerSkip(program: Command): void {
  program
    .command('skip')
    .description(
      'Leave a failed step out: its episodes stay recorded, the weights stay, the next step follows.',
    )
    .argument('<run>', 'e.g. train/run-1, or run-1')
    .requiredOption('--step <n>', 'the step that failed', integer(1, LIMITS.steps))
    .option('--json', 'print what was done as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast skip train/run-1 --step 12\n')
    .action((name: string, options: { step: number; json?: boolean }) =>
      withStack(async (context) => {
        const row = await skipStep(context, name, options.step);
        if (options.json) printJson({ id: row.id, step: options.step, state: 'skipping' });
        say(`${row.id} leaves step ${options.step} out and goes on. See: steadfast status ${row.id}`);
      }),
    );
}

/** Throws `UsageError` for a step that has ended, is under way, or is not the one that failed. */
export async function skipStep(context: StackContext, name: string, step: number): Promise<CampaignRow> {
  const ledger = await context.ledger();
  const row = await resolveRun(ledger, name);
  const { state } = await resolveStep(ledger, row.id, step);
  if (state === 'done' || state === 'skipped') {
    throw new UsageError(`skip ${row.id}`, 'a step that has not ended', `step ${step}, which is ${state}`);
  }
  if (!hasEnded(row) && (await asked(context, row.id, step))) return row;
  // It has ended: it is opened again, paused, so that nothing of the step runs before it is left out.
  const paused = { paused: true, stop: 'no' } as const;
  await startWorkflow(context, row.id, 'train', notedLanes(row), {
    ended: hasEnded(row),
    control: paused,
    place: notedPlace(row),
  });
  for (const deadline = Date.now() + OPENING_MS; ; ) {
    try {
      if (await asked(context, row.id, step)) return row;
    } catch (error) {
      if (!(error instanceof UsageError) || Date.now() > deadline) throw error;
    }
    await sleep(ASK_EVERY_MS);
  }
}

/** False when no workflow of that id runs. */
async function asked(context: StackContext, id: string, step: number): Promise<boolean> {
  const handle = (await context.temporal()).workflow.getHandle(id);
  const done = await updated(`skip ${id}`, () =>
    handle.executeUpdate<number, [number]>('skip', { args: [step] }),
  );
  return done !== undefined;
}
