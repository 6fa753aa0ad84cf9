/**
 * A training run: one child per GRPO step, in order. The cursor is derived from committed rows, so a run that is
 * started again under its name goes on at the first step that is not done. A failed step pauses the run with its
 * cause; nothing that it had is lost, and unpausing runs what is missing.
 */
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { stepId } from '../core/keys.js';
import type { CampaignState } from '../core/ledger.js';
import { evaluation } from './attempts-campaign.js';
import { Control, type ControlState } from './control.js';
import { recordingFailure } from './failure.js';
import { grpoStep, type StepResult } from './grpo-step.js';
import { campaigns, episodes } from './proxies.js';

export interface TrainInput {
  readonly campaign: string;
  readonly lanes: number;
  /** Carried over when the workflow continues as new. */
  readonly carried?: { readonly control: ControlState; readonly steps: number };
}

export interface TrainResult {
  readonly state: CampaignState;
  readonly steps: number;
  readonly cause: string | null;
}

export interface TrainProgress {
  readonly step: number;
  readonly steps: number;
  readonly control: ControlState;
  readonly cause: string | null;
}

export const trainProgressQuery = defineQuery<TrainProgress>('train-progress');
/** Raises the number of steps; returns the new total. */
export const extendUpdate = defineUpdate<number, [number]>('extend');

export async function trainingRun(input: TrainInput): Promise<TrainResult> {
  return recordingFailure(input.campaign, () => runTraining(input));
}

async function runTraining(input: TrainInput): Promise<TrainResult> {
  const control = new Control(input.carried?.control);
  const run = input.campaign;
  const plan = await campaigns.openTraining(run);
  await episodes.proveParity(run);
  let steps = Math.max(plan.steps, input.carried?.steps ?? 0);
  let step = plan.nextStep;
  let cause: string | null = null;
  setHandler(trainProgressQuery, () => ({ step, steps, control: control.state, cause }));
  setHandler(
    extendUpdate,
    (to) => {
      steps = to;
      return steps;
    },
    {
      validator: (to) => {
        if (!Number.isSafeInteger(to) || to <= steps) {
          throw ApplicationFailure.nonRetryable(`extend: expected more than ${steps} steps, found ${to}`);
        }
      },
    },
  );

  while (step <= steps && !control.stopping) {
    await control.clear();
    if (control.stopping) break;
    const result = await runStep(run, step, input.lanes, steps, plan, control);
    if (result.state === 'done') {
      cause = null;
      await validate(run, step, plan, input.lanes, control);
      step++;
    } else if (result.state === 'failed') {
      cause = `step ${step}: ${result.cause}`;
      await campaigns.setState(run, 'paused', cause);
      control.pauseSelf();
      await control.clear();
      if (!control.stopping) await campaigns.setState(run, 'running', null);
    }
    if (workflowInfo().continueAsNewSuggested && !control.stopping) {
      await continueAsNew<typeof trainingRun>({ ...input, carried: { control: control.state, steps } });
    }
  }
  const state: CampaignState = step > steps ? 'done' : 'stopped';
  await CancellationScope.nonCancellable(() => campaigns.closeTraining(run, state, cause));
  return { state, steps: step - 1, cause };
}

async function runStep(
  run: string,
  step: number,
  lanes: number,
  steps: number,
  plan: Awaited<ReturnType<typeof campaigns.openTraining>>,
  control: Control,
): Promise<StepResult> {
  const child = await startChild(grpoStep, {
    workflowId: stepId(workflowInfo().workflowId, step),
    args: [
      {
        run,
        step,
        shape: plan.shape,
        maxTries: plan.maxTries,
        lanes,
        save: step % plan.saveEvery === 0 || step === steps,
        control: control.state,
      },
    ],
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  return control.follow(child, child.result());
}

/** Evaluates the held-out split after every `validateEvery` steps, as a campaign of its own. */
async function validate(
  run: string,
  step: number,
  plan: Awaited<ReturnType<typeof campaigns.openTraining>>,
  lanes: number,
  control: Control,
): Promise<void> {
  if (plan.validateEvery === 0 || step % plan.validateEvery !== 0) return;
  const campaign = await campaigns.claimValidation(run, step);
  const child = await startChild(evaluation, {
    workflowId: campaign,
    args: [{ campaign, lanes }],
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  await control.follow(child, child.result());
}
