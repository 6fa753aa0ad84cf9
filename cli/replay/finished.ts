/** `replay step` of a finished step: again in a trainer of its own, and compared. Changes nothing of the run. */
import pc from 'picocolors';
import { replayStep, type StepReplay } from '../../activities/trainer/replay-step.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { CampaignRow, OperationRow, StepRow } from '../../core/ledger.js';
import type { StackContext } from '../context.js';
import { driftOfSuite, driftOfTrainer, settleDrift } from './drift.js';
import { withReplayTrainer } from './trainer.js';

export interface ReplayOptions {
  readonly acceptDrift: boolean;
  /** Batches that are gone are made again instead of refused. */
  readonly mend: boolean;
  readonly trainer?: string | undefined;
}

export async function replayFinished(
  context: StackContext,
  row: CampaignRow,
  step: StepRow,
  operation: OperationRow,
  options: ReplayOptions,
): Promise<StepReplay> {
  const ledger = await context.ledger();
  const artifacts = await context.artifacts();
  const config = row.config as TrainConfig;
  return withReplayTrainer(context, options.trainer, async ({ trainer, signal, scratch }) => {
    const drift = [...(await driftOfSuite(row)), ...(await driftOfTrainer(ledger, row, trainer, signal))];
    await settleDrift(ledger, row, drift, options.acceptDrift);
    const refuseLost = !options.mend;
    return replayStep({ ledger, artifacts, trainer, config, scratch, refuseLost }, step, operation, signal);
  });
}

export function replayText(replay: StepReplay): string[] {
  const { run, step, identical, differences, compared, restored, mended, weightDigest } = replay;
  const lines = [...(restored ? restoredText(restored, step) : []), ...mended.map((what) => pc.yellow(what))];
  if (identical) {
    return [
      ...lines,
      `${pc.green('identical')}: step ${step} of ${run} gives the same batch, weights, optimizer and metrics (${compared.length} compared)`,
      `weights ${weightDigest}`,
    ];
  }
  const [first, ...others] = differences;
  return [
    ...lines,
    `${pc.red('different')}: ${first!.what}: recorded ${first!.recorded}, replayed ${first!.replayed}`,
    ...others.map(
      ({ what, recorded, replayed }) => `  also ${what}: recorded ${recorded}, replayed ${replayed}`,
    ),
  ];
}

function restoredText(
  { from, passedOver, reapplied }: NonNullable<StepReplay['restored']>,
  step: number,
): string[] {
  const again =
    reapplied.length === 0
      ? ''
      : `, ${reapplied.length} recorded ${reapplied.length === 1 ? 'batch' : 'batches'} applied again`;
  return [
    ...passedOver.map(({ path, reason }) => pc.yellow(`passed over ${path}: ${reason}`)),
    `state before step ${step}: ${from ?? 'the base'}${again}`,
  ];
}
