/** The ledger's side of a training run: where a step begins, what it planned, its batch, its end. */
import type { Digest } from '../../core/artifacts.js';
import { type BatchFormat, SELF_CONTAINED } from '../../core/batch.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { AttemptRow, CampaignState, GroupRow, StepRow } from '../../core/ledger.js';
import type { PlannedGroup, StageSeconds, StepStart, TrainPlan } from '../../core/orchestration.js';
import { seedOf } from '../../core/seed.js';
import { stepsInAll, validationConfig } from '../../core/stage-configs.js';
import { writeMetricsFile } from '../report/metrics-jsonl.js';
import { assembleBatch } from './batch.js';
import { type CampaignDeps, type Configurations, campaignRow, taskRef, taskRefs } from './deps.js';
import { keepRecord } from './reproducibility.js';
import { firstCursor, reuseEpisodes } from './reuse.js';
import { allGroups, candidates, endedGroups, priorGroups, startedGroups } from './step-groups.js';
import { samplingMetrics, stageMetrics } from './step-metrics.js';
import { refuseChangedSuite } from './suite-guard.js';
import type { AttemptsSummary } from './summary.js';

export function createTrainingActivities(deps: CampaignDeps, configs: Configurations) {
  const { ledger, artifacts } = deps;

  async function stepRow(run: string, step: number): Promise<StepRow> {
    const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
    if (row) return row;
    throw new Fault('ledger', `step ${step} of ${run} is not in the ledger`, { retry: false });
  }

  /** The configured steps, or what an extension made of them. */
  async function stepsOf(run: string): Promise<number> {
    const row = await campaignRow(ledger, run);
    return stepsInAll(row.config as TrainConfig, row.result);
  }

  return {
    async openTraining(run: string): Promise<TrainPlan> {
      const config = await configs.ofKind(run, 'train');
      await refuseChangedSuite(deps, run);
      await ledger.setCampaignState(run, 'running');
      await keepRecord(deps, run);
      const ended = (await ledger.steps(run)).filter(hasEnded).length;
      return {
        id: run,
        state: 'running',
        taskCount: config.tasks.length,
        repeat: 0,
        maxTries: config.maxTries,
        servedByTrainer: true,
        steps: await stepsOf(run),
        configuredSteps: config.steps,
        shape: config.shape,
        saveEvery: config.saveEvery,
        validateEvery: config.validation.tasks.length > 0 ? config.validateEvery : 0,
        nextStep: ended + 1,
      };
    },

    /** Opens a step, or finds it: its place in the endless order is the sum of groups that committed steps started. */
    async beginStep(run: string, step: number): Promise<StepStart> {
      const config = await configs.ofKind(run, 'train');
      const steps = await ledger.steps(run);
      const known = steps.find((row) => row.step === step);
      if (known && hasEnded(known)) {
        return { state: 'done', batchDigest: known.batchDigest, candidates: [], prior: [], firstTry: 1 };
      }
      if (known?.batchDigest) {
        return { state: 'sampled', batchDigest: known.batchDigest, candidates: [], prior: [], firstTry: 1 };
      }
      const before = steps.filter((row) => row.step < step);
      const cursor = before.reduce((sum, row) => sum + row.started, await firstCursor(ledger, config));
      await reuseEpisodes(ledger, run, step, config);
      // Exhausted attempts stay so until they are tried again: a refill that is no longer needed is not.
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

    /**
     * Writes down the more steps that a run is to make. Its configuration stays what it was: that is its identity.
     */
    async extendTraining(run: string, to: number): Promise<void> {
      await ledger.noteOnCampaign(run, { extendedTo: to, solvedAt: null });
    },

    /** The run ends at this step, however many were asked for: every attempt of every group that it could start passed. */
    async endSolved(run: string, step: number): Promise<void> {
      await ledger.noteOnCampaign(run, { solvedAt: step });
    },

    /**
     * Records the groups and writes the batch of the informative ones, by reference. Same rows and format, same bytes.
     * Workflows and GPU workers from before batches of references name no format.
     */
    async buildBatch(
      run: string,
      step: number,
      format: BatchFormat = SELF_CONTAINED,
    ): Promise<{ readonly batchDigest: Digest; readonly episodes: number }> {
      const config = await configs.ofKind(run, 'train');
      const rows = await ledger.attempts(run, { step });
      const groups = await recordGroups(run, step, config, rows);
      const current = await stepRow(run, step);
      const { bytes, episodes } = await assembleBatch(artifacts, config, { run, step }, rows, format);
      const batchDigest = await artifacts.put(bytes);
      await ledger.putStep({
        ...current,
        state: 'sampled',
        started: startedGroups(rows),
        batchDigest,
        metrics: samplingMetrics(config, groups, rows),
      });
      return { batchDigest, episodes };
    },

    async failStep(run: string, step: number, cause: string): Promise<void> {
      const config = await configs.ofKind(run, 'train');
      await recordGroups(run, step, config, await ledger.attempts(run, { step }));
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

    /**
     * Leaves the step out: the order of tasks moves on, the weights stay `weightDigest`, what was sampled is recorded.
     * Throws `Fault('ledger', code: 'updated')` when its update is applied: such a step can only be finished.
     */
    async skipStep(run: string, step: number, weightDigest: Digest): Promise<void> {
      const config = await configs.ofKind(run, 'train');
      const current = await stepRow(run, step);
      if (current.state === 'done' || current.state === 'skipped') return;
      const applied = (await ledger.operations(run)).find((row) => row.step === step && row.state === 'done');
      if (applied) {
        throw new Fault('ledger', `step ${step} of ${run} cannot be skipped: its update is applied`, {
          code: 'updated',
          retry: false,
        });
      }
      const rows = await ledger.attempts(run, { step });
      const groups = allGroups(config, rows);
      for (const group of groups) await ledger.putGroup(run, step, group);
      await ledger.putStep({
        ...current,
        state: 'skipped',
        started: startedGroups(rows),
        baseDigest: weightDigest,
        weightDigest,
        metrics: samplingMetrics(config, groups, rows),
      });
      await writeMetricsFile(ledger, run, deps.reports);
    },

    /** Notes the score of the held-out tasks on the step that they were evaluated after; null where it has none. */
    async recordValidation(run: string, step: number): Promise<void> {
      const { id } = validationConfig(run, step, await configs.ofKind(run, 'train'));
      const { score } = (await campaignRow(ledger, id)).result as AttemptsSummary;
      const current = await stepRow(run, step);
      const metrics = { ...current.metrics, validationPassAt1: score?.passAt1.value ?? null };
      await ledger.putStep({ ...current, metrics });
      await writeMetricsFile(ledger, run, deps.reports);
    },

    async closeTraining(run: string, state: CampaignState, cause: string | null): Promise<void> {
      const steps = await ledger.steps(run);
      const ended = steps.filter(hasEnded);
      const weightDigest = ended.at(-1)?.weightDigest ?? null;
      await keepRecord(deps, run);
      await ledger.noteOnCampaign(run, { cause, steps: ended.length, weightDigest }, state);
    },
  };

  async function recordGroups(
    run: string,
    step: number,
    config: TrainConfig,
    rows: readonly AttemptRow[],
  ): Promise<readonly GroupRow[]> {
    const groups = endedGroups(config, rows);
    for (const group of groups) await ledger.putGroup(run, step, group);
    return groups;
  }
}

/** Nothing of such a step is run again. */
export function hasEnded({ state }: StepRow): boolean {
  return state === 'done' || state === 'skipped';
}
