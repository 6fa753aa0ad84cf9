/** The plan of a step's update as this trainer is sent it, and what the ledger keeps of an update that it refused. */
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';
import type { Trainer, UpdatePlan } from '../../core/trainer.js';
import { needsSupport, planFor, planSupport, type UpdateSettings } from '../../core/update-settings.js';
import { MISMATCH_BOUND } from '../../temporal.config.js';

/** Throws `UsageError` for settings that the trainer does not support. */
export async function planOf(
  trainer: Pick<Trainer, 'capabilities'>,
  settings: UpdateSettings,
  signal: AbortSignal,
): Promise<UpdatePlan> {
  return planFor(settings, MISMATCH_BOUND, planSupport(await trainer.capabilities(signal)));
}

/** Before anything is sampled for an update that this trainer could not make. Asks only where there is something to ask. */
export async function requirePlan(
  trainer: Pick<Trainer, 'capabilities'>,
  settings: UpdateSettings,
  signal: AbortSignal,
): Promise<void> {
  if (needsSupport(settings)) await planOf(trainer, settings, signal);
}

/** The figures of a batch that was too far off policy, on its step: they are why it stands still. */
export async function noteOffPolicy(
  ledger: Pick<Ledger, 'steps' | 'putStep'>,
  { run, step }: { readonly run: string; readonly step: number },
  error: unknown,
): Promise<void> {
  if (!(error instanceof Fault && error.code === 'off_policy')) return;
  const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
  if (row) await ledger.putStep({ ...row, metrics: { ...row.metrics, ...error.details } });
}
