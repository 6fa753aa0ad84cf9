/**
 * `replay step` of a step that has not ended: every clean episode is kept, only what is missing runs (same keys, next
 * try), then the update follows. The run's own workflow does it: it is unpaused, or started again when it is gone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../core/faults.js';
import type { AttemptRow, CampaignRow, Ledger, StepRow } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { StackContext } from '../context.js';
import { say } from '../output.js';
import { hasEnded, notedLanes, notedPlace, startWorkflow } from '../run/launch.js';
import { patiently } from '../run/patiently.js';
import { progressLine } from '../run/progress.js';
import { snapshot } from '../run/snapshot.js';
import { updated } from '../temporal-errors.js';

const POLL_MS = 500;
const SAY_EVERY_MS = 10_000;

export interface GoneOn {
  readonly run: string;
  readonly step: number;
  readonly state: StepRow['state'];
  /** Why it failed again; null when it is done. */
  readonly cause: string | null;
  /** Clean episodes that the step had before: none of them ran again. */
  readonly kept: number;
  /** Attempts that became clean now. */
  readonly added: number;
  /** Tries begun now. */
  readonly tries: number;
}

/** Returns when the step has ended, or has failed again. Throws `UsageError` when the run is stopped meanwhile. */
export async function goOnWith(context: StackContext, row: CampaignRow, step: number): Promise<GoneOn> {
  const ledger = await context.ledger();
  const before = await ledger.attempts(row.id, { step });
  await wake(context, row);
  const ended = await stepEnds(ledger, row.id, step);
  const after = await ledger.attempts(row.id, { step });
  const kept = before.filter(isClean).length;
  return {
    run: row.id,
    step,
    state: ended.state,
    cause: ended.state === 'done' || ended.state === 'skipped' ? null : ended.cause,
    kept,
    added: after.filter(isClean).length - kept,
    tries: triesOf(after) - triesOf(before),
  };
}

async function wake(context: StackContext, row: CampaignRow): Promise<void> {
  if (!hasEnded(row)) {
    const handle = (await context.temporal()).workflow.getHandle(row.id);
    const ask = () => handle.executeUpdate<unknown, []>('unpause');
    if (await updated(`replay step of ${row.id}`, ask, 'a run that can go on')) return;
  }
  // Written down first, so that who watches does not take the old end for the new one.
  await (await context.ledger()).noteOnCampaign(row.id, { cause: null }, 'running');
  await startWorkflow(context, row.id, 'train', notedLanes(row), {
    ended: hasEnded(row),
    place: notedPlace(row),
  });
}

async function stepEnds(ledger: Ledger & LedgerReads, run: string, step: number): Promise<StepRow> {
  let said = 0;
  for (;;) {
    const seen = await patiently(() => lookAt(ledger, run, step));
    if (seen) {
      const { row, campaign } = seen;
      if (row.state === 'done' || row.state === 'skipped') return row;
      if (campaign.state === 'paused' || campaign.state === 'failed') {
        return { ...row, cause: causeIn(campaign) ?? row.cause };
      }
      if (campaign.state === 'stopped') {
        throw new UsageError(
          `step ${step} of ${run}`,
          'a run that goes on',
          'one that was stopped by somebody',
        );
      }
      if (Date.now() - said > SAY_EVERY_MS) {
        said = Date.now();
        for (const each of (await snapshot(ledger, run))?.campaigns ?? []) say(progressLine(each));
      }
    }
    await sleep(POLL_MS);
  }
}

async function lookAt(ledger: Ledger, run: string, step: number) {
  const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
  const campaign = await ledger.campaign(run);
  return row && campaign ? { row, campaign } : undefined;
}

function causeIn({ result }: CampaignRow): string | null {
  return (result as { cause?: string | null } | null)?.cause ?? null;
}

const isClean = ({ state }: AttemptRow): boolean => state === 'clean';

function triesOf(rows: readonly AttemptRow[]): number {
  return rows.reduce((sum, { tries }) => sum + tries, 0);
}
