/** The ledger's side of a training run: where a step begins, what it planned, its batch, its end. */
import { groupAdvantages } from '../../core/advantages.js';
import type { Digest } from '../../core/artifacts.js';
import { type BatchEpisode, encodeBatch } from '../../core/batch.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { AttemptRow, CampaignState, GroupRow, StepRow } from '../../core/ledger.js';
import type { PlannedGroup, StageSeconds, StepStart, TrainPlan } from '../../core/orchestration.js';
import { seedOf } from '../../core/seed.js';
import { stepsInAll, validationConfig } from '../../core/stage-configs.js';
import { decodeTokens } from '../../core/tokens.js';
import { writeMetricsFile } from '../report/metrics-jsonl.js';
import { refuseChangedSuite } from './attempts.js';
import { type CampaignDeps, type Configurations, campaignRow, taskRef, taskRefs } from './deps.js';
import { candidates, endedGroups, priorGroups, startedGroups } from './step-groups.js';
import { samplingMetrics, stageMetrics } from './step-metrics.js';
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
      const done = (await ledger.steps(run)).filter((row) => row.state === 'done').length;
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

    /**
     * Writes down the more steps that a run is to make. Its configuration stays what it was: that is its identity.
     */
    async extendTraining(run: string, to: number): Promise<void> {
      await ledger.noteOnCampaign(run, { extendedTo: to });
    },

    /** Records the groups and writes the batch of the informative ones, by reference. Same rows, same bytes. */
    async buildBatch(
      run: string,
      step: number,
    ): Promise<{ readonly batchDigest: Digest; readonly episodes: number }> {
      const config = await configs.ofKind(run, 'train');
      const rows = await ledger.attempts(run, { step });
      const groups = await recordGroups(run, step, config, rows);
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
        started: startedGroups(rows),
        batchDigest,
        metrics: samplingMetrics(config, groups, rows),
      });
      return { batchDigest, episodes: episodes.length };
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
      const done = steps.filter((row) => row.state === 'done');
      const weightDigest = done.at(-1)?.weightDigest ?? null;
      await ledger.noteOnCampaign(run, { cause, steps: done.length, weightDigest }, state);
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
