/**
 * Leaving a step out: an update on a run that is paused, with no step under way. The order of tasks moves on, the
 * weights stay; the step is recorded as skipped, with all that it had.
 */
import { ApplicationFailure, defineUpdate } from '@temporalio/workflow';
import type { Control } from './control.js';
import { campaigns, trainers } from './proxies.js';

/** The step by its number, so that nobody skips another one than they saw. Returns it. */
export const skipUpdate = defineUpdate<number, [number]>('skip');

export interface SkipPlace {
  readonly control: Control;
  /** The step that would be run next. */
  readonly step: number;
  /** False while a step or an evaluation runs, and when an evaluation comes next. */
  readonly waits: boolean;
}

/** For the validator. Throws the reason why `wanted` cannot be left out now. */
export function refuseSkip(wanted: unknown, { control, step, waits }: SkipPlace): void {
  control.refuseWhenEnding('skip');
  if (!waits || !control.state.paused) {
    throw refusal('only a step that failed, and has paused its run, can be skipped');
  }
  if (wanted !== step)
    throw refusal(`expected step ${step}, which is the next, found ${JSON.stringify(wanted)}`);
}

/** Records the step as skipped. The trainer says what its weights are; where `save` is due it saves them again. */
export async function skipStep(
  { campaign, control }: { readonly campaign: string; readonly control: Control },
  step: number,
  save: boolean,
): Promise<void> {
  await control.run(async () => {
    const { weightVersion } = await trainers.readyTrainer(campaign, step);
    await campaigns.skipStep(campaign, step, weightVersion);
    if (save) await trainers.saveCheckpoint(campaign, step);
  });
}

function refusal(why: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`skip: ${why}`);
}
