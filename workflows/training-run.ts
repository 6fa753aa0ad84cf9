/**
 * A training run: one child per GRPO step, in order. The cursor is derived from committed rows, so a run that is
 * started again under its name goes on at the first step that is not done. A failed step, or a held-out evaluation
 * that failed, pauses the run with its cause; nothing that it had is lost, and unpausing runs what is missing.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { stepId } from '../core/keys.js';
import type { CampaignState } from '../core/ledger.js';
import type { TrainPlan } from '../core/orchestration.js';
import { evaluation } from './attempts-campaign.js';
import { Control, type ControlState } from './control.js';
import { EpisodeQueue } from './episode-queue.js';
import { causeOf, recordingFailure } from './failure.js';
import { grpoStep } from './grpo-step.js';
import { campaigns } from './proxies.js';
import { refuseSkip, skipStep, skipUpdate } from './skip.js';

export interface TrainInput {
  readonly campaign: string;
  readonly lanes: number;
  /** Of the pipeline that started this run, or carried over when it continues as new; its lanes win. */
  readonly control?: ControlState;
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

/** What happened last went well, or why not. */
type Failure = string | null;

interface Run extends Pick<TrainInput, 'campaign'> {
  readonly plan: TrainPlan;
  readonly control: Control;
}

async function runTraining(input: TrainInput): Promise<TrainResult> {
  const { campaign } = input;
  let cause: Failure = null;
  const control = new Control({
    lanes: input.lanes,
    initial: input.control,
    record: (paused) => campaigns.setState(campaign, paused ? 'paused' : 'running', paused ? cause : null),
  });
  // Handlers first: an update that finds none is refused, and the ledger may take its time.
  let step = 0;
  let steps = 0;
  setHandler(trainProgressQuery, () => ({ step, steps, control: control.state, cause }));
  setHandler(
    extendUpdate,
    async (to) => {
      await condition(() => steps > 0);
      if (to <= steps) throw notMore(steps, to);
      steps = to;
      await campaigns.extendTraining(campaign, to);
      return to;
    },
    {
      validator: (to) => {
        control.refuseWhenEnding('extend');
        if (!Number.isSafeInteger(to) || to <= steps) throw notMore(steps, to);
      },
    },
  );
  let solved = false;
  // The step that a person wants to leave out, and whether the loop waits between two steps.
  let skipped: number | undefined;
  let rests = false;
  let due = false;
  const rest = async () => {
    rests = true;
    await control.clear();
    rests = false;
  };
  setHandler(
    skipUpdate,
    async (wanted) => {
      skipped = wanted;
      await control.unpauseSelf();
      return wanted;
    },
    { validator: (wanted) => refuseSkip(wanted, { control, step, waits: rests && !due }) },
  );
  const plan = await campaigns.openTraining(campaign);
  const run: Run = { campaign, plan, control };
  steps = plan.steps;
  step = plan.nextStep;
  // The step before may have been stopped before its evaluation; one that is done is not run again.
  due = validates(plan, step - 1);
  await control.opened();
  await control.unlessStopped(() => new EpisodeQueue(campaign, control).proveParity());

  while (!control.stopping && (due || step <= steps)) {
    await rest();
    if (control.stopping) break;
    let failure: Failure;
    if (skipped === step) failure = await leaveOut(run, step, steps);
    else if (due) failure = await validate(run, step - 1);
    else {
      const turn = await train(run, step, steps);
      failure = turn.failure;
      if (turn.solved) {
        failure = await leaveOut(run, step, step);
        solved = failure === null;
        if (solved) await campaigns.endSolved(campaign, step);
      }
    }
    skipped = undefined;
    cause = failure;
    if (solved) break;
    if (failure === null) {
      if (due) due = false;
      else due = validates(plan, step++);
    } else if (!control.stopping) {
      await control.pauseSelf();
      await rest();
    }
    // A step that is to be left out is, first: the next execution would not know of it.
    if (workflowInfo().continueAsNewSuggested && !control.stopping && skipped === undefined) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof trainingRun>({ ...input, control: control.state });
    }
  }
  await control.close();
  const ended = solved || (step > steps && !due);
  const state: CampaignState = ended ? 'done' : 'stopped';
  if (solved) cause = `ended at step ${step}: every attempt of every group that it could start passed`;
  await CancellationScope.nonCancellable(() => campaigns.closeTraining(campaign, state, cause));
  return { state, steps: solved ? step : step - 1, cause };
}

function notMore(steps: number, found: unknown): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `extend: expected more than ${steps} steps, found ${JSON.stringify(found)}`,
  );
}

/** True when the held-out tasks are evaluated after this step. */
function validates({ validateEvery }: TrainPlan, step: number): boolean {
  return validateEvery > 0 && step > 0 && step % validateEvery === 0;
}

/** The configured last step stays a checkpoint when the run is extended: a pipeline evaluates it by its number. */
function saves(plan: TrainPlan, step: number, steps: number): boolean {
  const last = step === steps || step === plan.configuredSteps;
  return last || step % plan.saveEvery === 0 || validates(plan, step);
}

async function leaveOut(run: Run, step: number, steps: number): Promise<Failure> {
  const cause = await outcome(async () => {
    await skipStep(run, step, saves(run.plan, step, steps));
    return null;
  });
  return cause === null ? null : `step ${step}: ${cause}`;
}

/** `solved`: every attempt of every group that the step could start passed. That is an end, not a failure. */
async function train(
  { campaign, plan, control }: Run,
  step: number,
  steps: number,
): Promise<{ readonly failure: Failure; readonly solved: boolean }> {
  let solved = false;
  const save = saves(plan, step, steps);
  const { shape, maxTries } = plan;
  const cause = await outcome(async () => {
    const result = await control.follow((state) =>
      startChild(grpoStep, {
        workflowId: stepId(workflowInfo().workflowId, step),
        args: [{ run: campaign, step, shape, maxTries, lanes: control.lanes, save, control: state }],
        cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
      }),
    );
    if (result.state === 'solved') solved = true;
    return result.state === 'done' || solved ? null : (result.cause ?? result.state);
  });
  return { failure: cause === null ? null : `step ${step}: ${cause}`, solved };
}

/** Evaluates the held-out tasks, as a campaign of its own, and notes the score on the step. */
async function validate({ campaign, control }: Run, step: number): Promise<Failure> {
  const cause = await outcome(async () => {
    const claimed = await campaigns.claimValidation(campaign, step);
    if (!claimed.done) {
      const result = await control.follow((state) =>
        startChild(evaluation, {
          workflowId: claimed.id,
          // The run waits for it: it goes first, as the run's own episodes do.
          args: [{ campaign: claimed.id, lanes: control.lanes, control: { priority: 'high', ...state } }],
          cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        }),
      );
      if (result.state !== 'done') return `the evaluation is ${result.state}`;
    }
    await campaigns.recordValidation(campaign, step);
    return null;
  });
  return cause === null ? null : `held-out tasks after step ${step}: ${cause}`;
}

/** A child that fails, or was ended by somebody, is no reason for the run to fail: its cause is told. */
async function outcome(work: () => Promise<Failure>): Promise<Failure> {
  try {
    return await work();
  } catch (error) {
    if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
    return causeOf(error);
  }
}
