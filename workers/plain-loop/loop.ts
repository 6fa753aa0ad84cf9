/** Probe → select → evaluate → train → evaluate, in one process: what the pipeline does, without durability. */

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupAdvantages } from '../../core/advantages.js';
import { type BatchEpisode, encodeBatch } from '../../core/batch.js';
import { type MemberStart, StepGroups } from '../../core/groups.js';
import { attemptKey, stepId } from '../../core/keys.js';
import { passAtK } from '../../core/metrics/pass-k.js';
import { isDependable, type TaskCounts } from '../../core/metrics/tasks.js';
import { TaskOrder } from '../../core/order.js';
import type { TaskRef } from '../../core/suite.js';
import type { Trainer, UpdatePlan, UpdateReport } from '../../core/trainer.js';
import { STEP } from '../../temporal.config.js';
import { type Episodes, type Finished, inLanes } from './episodes.js';

export interface LoopOptions {
  readonly seed: number;
  readonly steps: number;
  readonly groups: number;
  readonly groupSize: number;
  readonly repeat: number;
  /** Attempts a candidate; a task that passed always or never is left out. 0: every candidate is trained on. */
  readonly probe: number;
  readonly plan: UpdatePlan;
  /** Folder for batches. */
  readonly home: string;
}

/** Scores of one evaluation; `observed`: tasks passed on every attempt. */
export interface Scores {
  readonly tasks: number;
  readonly attempts: number;
  readonly passAt1: number;
  readonly passAtK: number;
  readonly observed: number;
  readonly observedShare: number;
  readonly byTemplate: Readonly<Record<string, number>>;
}

export interface StepLine {
  readonly step: number;
  readonly reward: number;
  readonly started: number;
  readonly zeroVariance: number;
  readonly episodes: number;
  readonly report: UpdateReport;
}

/** `owner` names the keys, and with them the seeds. */
export async function evaluate(
  episodes: Episodes,
  owner: string,
  tasks: readonly TaskRef[],
  repeat: number,
  weightVersion: string,
): Promise<readonly TaskCounts[]> {
  const counts = tasks.map(({ id, domain, template }) => ({
    taskId: id,
    domain,
    template,
    attempts: 0,
    passed: 0,
  }));
  let at = 0;
  await inLanes(
    episodes.concurrency,
    () => (at < tasks.length * repeat ? at++ : undefined),
    async (ordinal) => {
      const entry = counts[Math.floor(ordinal / repeat)]!;
      const key = attemptKey(owner, entry.taskId, String(ordinal % repeat));
      const { verdict } = await episodes.run(key, entry.taskId, weightVersion);
      entry.attempts += 1;
      if (verdict.passed) entry.passed += 1;
    },
  );
  return counts;
}

export function scores(counts: readonly TaskCounts[], repeat: number): Scores {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, v) => sum + v, 0) / Math.max(1, values.length);
  const observed = counts.filter((task) => isDependable(task, repeat)).length;
  const templates = new Map<string, number[]>();
  for (const { template, passed, attempts } of counts) {
    templates.set(template, [...(templates.get(template) ?? []), passed / attempts]);
  }
  return {
    tasks: counts.length,
    attempts: counts.reduce((sum, task) => sum + task.attempts, 0),
    passAt1: mean(counts.map(({ passed, attempts }) => passed / attempts)),
    passAtK: mean(counts.map(({ passed, attempts }) => passAtK(passed, attempts, repeat))),
    observed,
    observedShare: observed / Math.max(1, counts.length),
    byTemplate: Object.fromEntries(
      [...templates].map(([name, rates]) => [name, Math.round(mean(rates) * 1_000) / 1_000]),
    ),
  };
}

/** Trains from the base. Yields one line a step; the weights of the last are published when it ends. */
export async function* train(
  episodes: Episodes,
  trainer: Trainer,
  pool: readonly string[],
  options: LoopOptions,
): AsyncGenerator<StepLine & { readonly weightVersion: string }> {
  const signal = new AbortController().signal;
  const run = `train/plain-${options.seed}`;
  await trainer.open(run, undefined, signal);
  let { weightVersion } = await trainer.publish(run, signal);
  const order = new TaskOrder(pool, options.seed);
  await mkdir(join(options.home, 'batches'), { recursive: true });
  let cursor = 0;
  for (let step = 1; step <= options.steps; step += 1) {
    const { groups, finished } = await sampleStep(episodes, order, cursor, run, step, weightVersion, options);
    const end = groups.end();
    if (end.state === 'failed') throw new Error(`step ${step}: ${end.message}`);
    const batch: BatchEpisode[] = end.batch.flatMap(({ group, rewards }) => {
      const advantages = groupAdvantages(rewards, 'group-std');
      return advantages.map((advantage, member) => {
        const { key, tokens } = finished.get(`${group}.${member}`)!;
        return { key, advantage, ...tokens! };
      });
    });
    const bytes = encodeBatch({ run, step, weightVersion, episodes: batch });
    const batchDigest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const batchPath = join(options.home, 'batches', `${options.seed}-${step}.safetensors`);
    await writeFile(batchPath, bytes);
    const request = {
      run,
      op: `${run}/${step}`,
      baseDigest: weightVersion,
      batchDigest,
      batchPath,
      plan: options.plan,
    };
    const report = await trainer.update(request, signal);
    ({ weightVersion } = await trainer.publish(run, signal));
    const { started, zeroVariance } = groups.counts();
    cursor += started;
    const rewards = groups.rows().flatMap((row) => row.rewards.filter((reward) => reward !== null));
    const reward = rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
    yield { step, reward, started, zeroVariance, episodes: rewards.length, report, weightVersion };
  }
}

async function sampleStep(
  episodes: Episodes,
  order: TaskOrder,
  cursor: number,
  run: string,
  step: number,
  weightVersion: string,
  { groups: wanted, groupSize }: LoopOptions,
): Promise<{ groups: StepGroups; finished: ReadonlyMap<string, Finished> }> {
  const scale = wanted / STEP.groups;
  const groups = new StepGroups({
    groups: wanted,
    size: groupSize,
    maxRounds: STEP.maxRefillRounds,
    maxGroups: Math.round(STEP.maxGroups * scale),
    minInformative: Math.max(1, Math.round(STEP.minInformative * scale)),
    refill: STEP.refill,
    tasks: order.distinctFrom(cursor),
  });
  const finished = new Map<string, Finished>();
  const queue: MemberStart[] = [];
  const next = (): MemberStart | undefined => {
    if (queue.length === 0) queue.push(...groups.toStart());
    return queue.shift();
  };
  await inLanes(episodes.concurrency, next, async ({ round, group, member, taskId }) => {
    const key = attemptKey(stepId(run, step), taskId, `${round}.${group}.${member}`);
    const episode = await episodes.run(key, taskId, weightVersion);
    finished.set(`${group}.${member}`, episode);
    groups.memberDone(group, member, { outcome: 'clean', reward: episode.verdict.reward });
  });
  return { groups, finished };
}
