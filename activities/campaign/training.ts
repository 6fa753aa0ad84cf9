/** The ledger's side of a training run: where a step begins, what it planned, its batch, its end. */
import { groupAdvantages } from '../../core/advantages.js';
import type { Digest } from '../../core/artifacts.js';
import { type BatchEpisode, encodeBatch } from '../../core/batch.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { AttemptRow, CampaignState, StepRow } from '../../core/ledger.js';
import type {
  EndedGroup,
  PlannedGroup,
  PriorGroup,
  StageSeconds,
  StepStart,
  TrainPlan,
} from '../../core/orchestration.js';
import { TaskOrder } from '../../core/order.js';
import { seedOf } from '../../core/seed.js';
import { decodeTokens } from '../../core/tokens.js';
import { writeMetricsFile } from '../report/metrics-jsonl.js';
import { refuseChangedSuite } from './attempts.js';
import { type CampaignDeps, type Configurations, taskRef, taskRefs } from './deps.js';
import { samplingMetrics, stageMetrics } from './step-metrics.js';

export function createTrainingActivities(deps: CampaignDeps, configs: Configurations) {
  const { ledger, artifacts } = deps;

  async function stepRow(run: string, step: number): Promise<StepRow> {
    const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
    if (row) return row;
    throw new Fault('ledger', `step ${step} of ${run} is not in the ledger`, { retry: false });
  }

  return {
    async openTraining(run: string): Promise<TrainPlan> {
      const config = await configs.ofKind(run, 'train');
      await refuseChangedSuite(deps, run);
      await ledger.setCampaignState(run, 'running');
      const done = (await ledger.steps(run)).filter((row) => row.state === 'done').length;
      return {
        id: run,
        state: 'running',
        taskCount: config.tasks.length,
        repeat: 0,
        maxTries: config.maxTries,
        servedByTrainer: true,
        steps: config.steps,
        shape: config.shape,
        saveEvery: config.saveEvery,
        validateEvery: config.validateEvery,
        nextStep: done + 1,
      };
    },

    /** Opens a step, or finds it: its place in the endless order is the sum of groups that committed steps started. */
    async beginStep(run: string, step: number): Promise<StepStart> {
      const config = await configs.ofKind(run, 'train');
      const steps = await ledger.steps(run);
      const known = steps.find((row) => row.step === step);
      if (known?.state === 'done') {
        return { state: 'done', batchDigest: known.batchDigest, candidates: [], prior: [], firstTry: 1 };
      }
      if (known?.batchDigest) {
        return { state: 'sampled', batchDigest: known.batchDigest, candidates: [], prior: [], firstTry: 1 };
      }
      const before = steps.filter((row) => row.step < step);
      const cursor = before.reduce((sum, row) => sum + row.started, 0);
      await ledger.reopenExhausted(run, step);
      await ledger.putStep({
        run,
        step,
        state: 'sampling',
        cursor,
        started: 0,
        baseDigest: before.find((row) => row.step === step - 1)?.weightDigest ?? null,
        weightDigest: null,
        batchDigest: null,
        op: null,
        metrics: {},
        cause: null,
      });
      const rows = await ledger.attempts(run, { step });
      return {
        state: 'sampling',
        batchDigest: null,
        candidates: candidates(config, cursor),
        prior: priorGroups(config, rows),
        firstTry: 1 + Math.max(0, ...rows.filter((row) => row.state !== 'clean').map((row) => row.tries)),
      };
    },

    async planMembers(run: string, step: number, groups: readonly PlannedGroup[]): Promise<void> {
      const config = await configs.ofKind(run, 'train');
      const refs = await taskRefs(await deps.suite(config.suite));
      const owner = stepId(run, step);
      await ledger.planAttempts(
        run,
        groups.flatMap(({ round, group, task, members }) => {
          const taskId = config.tasks[task]!;
          const { domain, template } = taskRef(refs, taskId);
          return members.map((member) => {
            const slot = `${round}.${group}.${member}`;
            const key = attemptKey(owner, taskId, slot);
            const seed = seedOf(config.seed, key);
            return { key, taskId, slot, domain, template, seed, step, round, group, member };
          });
        }),
      );
    },

    /** Records the groups and writes the batch of the informative ones, by reference. Same rows, same bytes. */
    async buildBatch(
      run: string,
      step: number,
      groups: readonly EndedGroup[],
    ): Promise<{ readonly batchDigest: Digest; readonly episodes: number }> {
      const config = await configs.ofKind(run, 'train');
      await recordGroups(run, step, config, groups);
      const rows = await ledger.attempts(run, { step });
      const episodes: BatchEpisode[] = [];
      for (const group of groups
        .filter(({ state }) => state === 'informative')
        .slice(0, config.shape.groups)) {
        const members = rows
          .filter((row) => row.group === group.group && row.round === group.round)
          .sort((a, b) => a.member! - b.member!);
        const rewards = members.map((row) => row.reward!);
        const advantages = groupAdvantages(rewards, config.shape.advantage);
        for (const [index, member] of members.entries()) {
          episodes.push({ key: member.key, advantage: advantages[index]!, ...(await tokensOf(member)) });
        }
      }
      const current = await stepRow(run, step);
      const bytes = encodeBatch({ run, step, weightVersion: weightVersionOf(rows, run, step), episodes });
      const batchDigest = await artifacts.put(bytes);
      await ledger.putStep({
        ...current,
        state: 'sampled',
        started: groups.length,
        batchDigest,
        metrics: samplingMetrics(config, groups, rows),
      });
      return { batchDigest, episodes: episodes.length };
    },

    async failStep(run: string, step: number, cause: string, groups: readonly EndedGroup[]): Promise<void> {
      const config = await configs.ofKind(run, 'train');
      await recordGroups(run, step, config, groups);
      const current = (await ledger.steps(run)).find((row) => row.step === step);
      if (current) await ledger.putStep({ ...current, state: 'failed', cause });
    },

    async finishStep(run: string, step: number, seconds: StageSeconds): Promise<void> {
      const current = await stepRow(run, step);
      await ledger.putStep({
        ...current,
        state: 'done',
        cause: null,
        metrics: { ...current.metrics, ...stageMetrics(seconds) },
      });
      await writeMetricsFile(ledger, run, deps.reports);
    },

    async closeTraining(run: string, state: CampaignState, cause: string | null): Promise<void> {
      const steps = await ledger.steps(run);
      const done = steps.filter((row) => row.state === 'done');
      await ledger.setCampaignState(run, state, {
        cause,
        steps: done.length,
        weightDigest: done.at(-1)?.weightDigest ?? null,
      });
    },
  };

  async function recordGroups(
    run: string,
    step: number,
    config: TrainConfig,
    groups: readonly EndedGroup[],
  ): Promise<void> {
    for (const { task, ...group } of groups) {
      await ledger.putGroup(run, step, { ...group, taskId: config.tasks[task]! });
    }
  }

  async function tokensOf(row: AttemptRow) {
    const document = JSON.parse(new TextDecoder().decode(await artifacts.get(row.trajectory!))) as {
      tokens: Digest | null;
    };
    if (document.tokens === null) {
      throw new Fault('artifacts', `${row.key}: the trajectory has no token record`, { retry: false });
    }
    return decodeTokens(await artifacts.get(document.tokens));
  }
}

/** A batch is on-policy: every episode in it was sampled from one version of the weights. */
function weightVersionOf(rows: readonly AttemptRow[], run: string, step: number): Digest {
  const versions = new Set(rows.filter((row) => row.state === 'clean').map((row) => row.weightVersion));
  const [version] = versions;
  if (versions.size === 1 && version) return version;
  throw new Fault(
    'ledger',
    `step ${step} of ${run}: expected one weight version, found ${[...versions].join(', ') || 'none'}`,
    { code: 'mixed_weights', retry: false },
  );
}

/** The distinct tasks of the endless order from the cursor on, as indexes into the frozen list. */
function candidates(config: TrainConfig, cursor: number): number[] {
  const index = new Map(config.tasks.map((taskId, position) => [taskId, position]));
  const found: number[] = [];
  for (const taskId of new TaskOrder(config.tasks, config.seed).distinctFrom(cursor)) {
    if (found.length >= config.shape.maxGroups) break;
    found.push(index.get(taskId)!);
  }
  return found;
}

/** Groups that an earlier execution of the step left, with the rewards of their clean members. */
function priorGroups(config: TrainConfig, rows: readonly AttemptRow[]): PriorGroup[] {
  const index = new Map(config.tasks.map((taskId, position) => [taskId, position]));
  const groups = new Map<number, PriorGroup & { rewards: (number | null)[] }>();
  for (const row of rows) {
    if (row.group === null || row.round === null || row.member === null) continue;
    const entry = groups.get(row.group) ?? {
      round: row.round,
      group: row.group,
      task: index.get(row.taskId)!,
      rewards: new Array<number | null>(config.shape.groupSize).fill(null),
    };
    entry.rewards[row.member] = row.state === 'clean' ? row.reward : null;
    groups.set(row.group, entry);
  }
  return [...groups.values()].sort((a, b) => a.group - b.group);
}
