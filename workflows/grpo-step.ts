/**
 * One GRPO step: sample groups with bounded refills, build the batch, update once, publish, check, save.
 *
 * The group logic is `StepGroups`, a plain class; this function is the wiring. Every stage is derived from committed
 * rows first, so a step that is run again goes on where its rows end: it keeps clean episodes, and an update that
 * was sent is found, not sent again.
 */
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { type MemberStart, StepGroups } from '../core/groups.js';
import type { PlannedGroup, StageSeconds, StepStart, TrainPlan } from '../core/orchestration.js';
import { settleAttempt, singleFlight } from './attempt.js';
import { Control, type ControlState } from './control.js';
import { EpisodeQueue } from './episode-queue.js';
import { causeOf } from './failure.js';
import { inLanes } from './lanes.js';
import { campaigns, trainers } from './proxies.js';

/** Keeps a payload within its budget: a group of 8 takes about 70 bytes. */
const GROUPS_A_CALL = 32;

export interface StepInput {
  readonly run: string;
  readonly step: number;
  readonly shape: TrainPlan['shape'];
  readonly maxTries: number;
  readonly lanes: number;
  /** True when a checkpoint follows this step. */
  readonly save: boolean;
  readonly control: ControlState;
}

export interface StepResult {
  /** `solved`: every attempt of every group passed; nothing was trained, and nothing is left to train on. */
  readonly state: 'done' | 'failed' | 'solved' | 'stopped';
  readonly cause: string | null;
}

export async function grpoStep(input: StepInput): Promise<StepResult> {
  const control = new Control({ lanes: input.lanes, initial: input.control });
  const { run, step } = input;
  try {
    return await control.run(() => runStep(input, control));
  } catch (error) {
    const stopped = isCancellation(error);
    const cause = stopped ? 'stopped by request' : causeOf(error);
    await CancellationScope.nonCancellable(() => campaigns.failStep(run, step, cause));
    return { state: stopped ? 'stopped' : 'failed', cause };
  }
}

async function runStep(input: StepInput, control: Control): Promise<StepResult> {
  const { run, step } = input;
  const clock = stageClock();
  const start = await campaigns.beginStep(run, step);
  if (start.state === 'done') return { state: 'done', cause: null };

  let batchDigest = start.batchDigest;
  if (start.state === 'sampling') {
    const groups = stepGroups(input, start);
    const { batchFormat } = await sampleGroups(input, control, groups, start.firstTry);
    const end = groups.end();
    if (end.state === 'failed') {
      await campaigns.failStep(run, step, end.message);
      return { state: end.solved ? 'solved' : 'failed', cause: end.message };
    }
    clock.lap('sampling');
    batchDigest = (await campaigns.buildBatch(run, step, batchFormat)).batchDigest;
    clock.lap('batch');
  }
  if (batchDigest === null) throw new Error(`step ${step} of ${run}: no batch was built`);

  await trainers.applyUpdate(run, step, batchDigest);
  clock.lap('update');
  await trainers.publish(run, step);
  clock.lap('publish');
  await trainers.checkSampler(run, step);
  clock.lap('verify');
  if (input.save) await trainers.saveCheckpoint(run, step);
  clock.lap('checkpoint');
  await campaigns.finishStep(run, step, clock.seconds());
  return { state: 'done', cause: null };
}

function stepGroups({ shape }: StepInput, start: StepStart): StepGroups {
  return new StepGroups({
    groups: shape.groups,
    size: shape.groupSize,
    maxRounds: shape.maxRefillRounds,
    maxGroups: shape.maxGroups,
    minInformative: shape.minInformative,
    refill: shape.refill,
    tasks: start.candidates.map(String),
    recorded: start.prior.flatMap((prior, group) => {
      if (prior === null) return [];
      const [round, rewards] = prior;
      const taskId = String(start.candidates[group]);
      return rewards.map((reward, member) => ({ round, group, member, taskId, reward }));
    }),
  });
}

/** What the trainer said when it was last made ready. */
async function sampleGroups(
  input: StepInput,
  control: Control,
  groups: StepGroups,
  firstTry: number,
): Promise<Awaited<ReturnType<typeof trainers.readyTrainer>>> {
  const { run, step } = input;
  let ready = await trainers.readyTrainer(run, step);
  const restorePolicy = singleFlight(async () => {
    ready = await trainers.readyTrainer(run, step);
  });
  const episodes = new EpisodeQueue(run, control);
  const queue: MemberStart[] = [];
  const enqueueStarts = async () => {
    const starts = groups.toStart();
    if (starts.length === 0) return;
    const planned = groupsOf(starts);
    for (let from = 0; from < planned.length; from += GROUPS_A_CALL) {
      await campaigns.planMembers(run, step, planned.slice(from, from + GROUPS_A_CALL));
    }
    queue.push(...starts);
  };
  await enqueueStarts();
  await inLanes(
    control,
    () => queue.shift(),
    async ({ round, group, member, taskId }) => {
      const summary = await settleAttempt(
        {
          ...{ campaign: run, task: Number(taskId), slot: `${round}.${group}.${member}`, step },
          weightVersion: ready.weightVersion,
        },
        { queue: episodes, firstTry, maxTries: input.maxTries, restorePolicy },
      );
      groups.memberDone(
        group,
        member,
        summary.outcome === 'system_error'
          ? { outcome: 'exhausted', fault: summary.fault ?? 'sandbox' }
          : { outcome: 'clean', reward: summary.reward! },
      );
      await enqueueStarts();
    },
  );
  return ready;
}

/** The groups whose members are about to start, with the members of each: payloads stay small. */
function groupsOf(starts: readonly MemberStart[]): PlannedGroup[] {
  const byGroup = new Map<number, PlannedGroup & { members: number[] }>();
  for (const { round, group, member, taskId } of starts) {
    const entry = byGroup.get(group) ?? { round, group, task: Number(taskId), members: [] };
    entry.members.push(member);
    byGroup.set(group, entry);
  }
  return [...byGroup.values()];
}

/** Seconds of each stage by the workflow's own clock. */
function stageClock() {
  const seconds: { -readonly [stage in keyof StageSeconds]: number } = {
    sampling: 0,
    batch: 0,
    update: 0,
    publish: 0,
    verify: 0,
    checkpoint: 0,
  };
  let last = Date.now();
  return {
    lap(stage: keyof StageSeconds): void {
      const now = Date.now();
      seconds[stage] += (now - last) / 1000;
      last = now;
    },
    seconds: (): StageSeconds => seconds,
  };
}
