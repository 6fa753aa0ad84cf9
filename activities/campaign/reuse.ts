/** A fork's first step: it takes over the recorded episodes of the step that it was forked from. */
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { Ledger, ReusedAttempt } from '../../core/ledger.js';
import { seedOf } from '../../core/seed.js';

/** Where the run begins in its endless order of tasks: a fork goes on where the step that it reuses began. */
export async function firstCursor(ledger: Ledger, { reuse }: TrainConfig): Promise<number> {
  if (!reuse) return 0;
  const row = (await ledger.steps(reuse.run)).find(({ step }) => step === reuse.step);
  if (row) return row.cursor;
  throw new Fault(
    'ledger',
    `step ${reuse.step} of ${reuse.run}, which is to be reused, is not in the ledger`,
    {
      retry: false,
    },
  );
}

/**
 * Takes over every clean episode of the reused step that the fork's own shape has room for, under the fork's keys.
 * What was taken over before stays; no episode is generated.
 */
export async function reuseEpisodes(
  ledger: Ledger,
  run: string,
  step: number,
  config: TrainConfig,
): Promise<void> {
  const { reuse, shape, seed } = config;
  if (!reuse || step !== 1) return;
  const owner = stepId(run, step);
  const reused: ReusedAttempt[] = [];
  for (const row of await ledger.attempts(reuse.run, { step: reuse.step })) {
    const { taskId, slot, domain, template, round, group, member } = row;
    if (row.state !== 'clean' || round === null || group === null || member === null) continue;
    if (round > shape.maxRefillRounds || group >= shape.maxGroups || member >= shape.groupSize) continue;
    const key = attemptKey(owner, taskId, slot);
    const planned = { key, taskId, slot, domain, template, seed: seedOf(seed, key) };
    reused.push({ ...planned, step, round, group, member, from: row.key });
  }
  await ledger.reuseAttempts(run, reused);
}
