/** A checkpoint as people write it: RUN@STEP, train/RUN@STEP or RUN@latest. */
import { UsageError } from '../../core/faults.js';
import { campaignId } from '../../core/keys.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';

export interface CheckpointName {
  readonly run: string;
  readonly step: number | 'latest';
}

/** Undefined: it has another form. Throws `UsageError` for a name that no run can have. */
export function parseCheckpointName(text: string): CheckpointName | undefined {
  const named = /^(?:train\/)?([^@:/]+)@(\d+|latest)$/.exec(text);
  if (!named) return undefined;
  return {
    run: campaignId('train', named[1]!),
    step: named[2] === 'latest' ? 'latest' : Number(named[2]),
  };
}

/** Of those that are there; rows are newest first. */
export function checkpointAt(
  rows: readonly CheckpointRow[],
  step: CheckpointName['step'],
): CheckpointRow | undefined {
  const there = rows.filter(({ pruned }) => !pruned);
  return step === 'latest' ? there[0] : there.find((each) => each.step === step);
}

/** Of those that are there. Throws `UsageError`, naming them. */
export async function namedCheckpoint(
  ledger: Pick<Ledger, 'checkpoints'>,
  place: string,
  { run, step }: CheckpointName,
): Promise<CheckpointRow> {
  const rows = await ledger.checkpoints(run);
  const row = checkpointAt(rows, step);
  if (row) return row;
  const there = rows.filter(({ pruned }) => !pruned);
  const steps = there.map((each) => each.step).join(', ') || 'none';
  const gone = rows.find((each) => each.step === step)?.pruned;
  const found = `${run.replace('train/', '')}@${step}${gone ? `, pruned at ${gone.at}: ${gone.rule}` : ''}`;
  throw new UsageError(place, `a checkpoint of ${run}: ${steps}`, found);
}
