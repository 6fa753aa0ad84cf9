/** The campaigns of a pipeline and of a run's validation, derived from the configuration of the one above. Pure. */
import type { AttemptsConfig, CampaignConfig, ModelRef, PipelineConfig, TrainConfig } from './campaign.js';
import { UsageError } from './faults.js';
import { type CampaignKind, campaignId, LONGEST_NAME } from './keys.js';
import type { PipelineStage } from './orchestration.js';

/** Stages of a pipeline that are campaigns of their own. */
export type CampaignStage = Exclude<PipelineStage, 'select' | 'report'>;

const STAGE_NAMES: Readonly<Record<CampaignStage, readonly [CampaignKind, string]>> = {
  probe: ['probe', ''],
  'evaluate-base': ['eval', '-base'],
  train: ['train', ''],
  'evaluate-final': ['eval', '-final'],
};

/** `eval/demo-base` for stage `evaluate-base` of `pipeline/demo`. */
export function stageCampaignId(pipelineId: string, stage: CampaignStage): string {
  const [kind, suffix] = STAGE_NAMES[stage];
  return campaignId(kind, nameOf(pipelineId) + suffix);
}

/**
 * Id of a campaign that is to be started. Throws `UsageError` for what is no name, and for one that leaves no room for
 * the evaluations that are named after it: they would be refused when hours of work are done.
 */
export function startableId(name: string, config: CampaignConfig): string {
  const id = campaignId(config.kind, name);
  const validates = config.kind === 'pipeline' ? config.train.validateEvery : validateEveryOf(config);
  const suffix = validates > 0 ? stepSuffix(LATEST_STEP) : config.kind === 'pipeline' ? '-final' : '';
  const most = LONGEST_NAME - suffix.length;
  if (name.length <= most) return id;
  const expected = `at most ${most} characters, since evaluations get names like "...${suffix}"`;
  throw new UsageError(`${config.kind} name`, expected, `${name.length}: "${name}"`);
}

function validateEveryOf(config: CampaignConfig): number {
  return config.kind === 'train' ? config.validateEvery : 0;
}

/** No run has more. */
const LATEST_STEP = 100_000;

function stepSuffix(step: number): string {
  return `-step-${String(step).padStart(4, '0')}`;
}

/** `demo` of `pipeline/demo`. */
export function nameOf(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

/** What the stages before have found out. */
export interface StageFacts {
  /** What selection kept; needed by `train`. */
  readonly pool: readonly string[];
  readonly heldOut: readonly string[];
  /** The run's last step; fewer than configured when its pool was solved before. Needed by `evaluate-final`. */
  readonly lastStep: number;
}

/** Configuration of one stage. */
export function stageConfig(
  pipelineId: string,
  stage: CampaignStage,
  config: PipelineConfig,
  { pool, heldOut, lastStep }: StageFacts,
): AttemptsConfig | TrainConfig {
  const { suite, suiteDigest, seed, sampling, limits, maxTries } = config;
  const common = { suite, suiteDigest, seed, sampling, limits, maxTries, ...carried(config) };
  const attempts = (
    kind: 'probe' | 'eval',
    part: PipelineConfig['probe'],
    model: ModelRef,
  ): AttemptsConfig => ({
    kind,
    ...common,
    tasks: part.tasks,
    repeat: part.repeat,
    model,
    exhaustedAsFailed: false,
  });
  const base: ModelRef = { kind: 'trainer', checkpoint: 'base' };
  switch (stage) {
    case 'probe':
      return attempts('probe', config.probe, base);
    case 'evaluate-base':
      return attempts('eval', config.benchmark, base);
    case 'train':
      return {
        kind: 'train',
        ...common,
        ...config.train,
        tasks: pool,
        validation: { ...config.train.validation, tasks: heldOut },
      };
    case 'evaluate-final':
      return attempts('eval', config.benchmark, {
        kind: 'trainer',
        checkpoint: { run: stageCampaignId(pipelineId, 'train'), step: lastStep },
      });
  }
}

/** What is handed on as it is; absent where there is none, so that the identity of other campaigns does not hang on it. */
function carried({ people, notComparable }: Pick<AttemptsConfig, 'people' | 'notComparable'>) {
  return {
    ...(people === undefined ? {} : { people }),
    ...(notComparable === undefined ? {} : { notComparable }),
  };
}

/** Name and configuration of a run's held-out evaluation after a step. */
export function validationConfig(
  run: string,
  step: number,
  config: TrainConfig,
): { readonly id: string; readonly config: AttemptsConfig } {
  const { suite, suiteDigest, seed, sampling, limits, maxTries, validation } = config;
  return {
    id: campaignId('eval', nameOf(run) + stepSuffix(step)),
    config: {
      kind: 'eval',
      suite,
      suiteDigest,
      seed,
      sampling,
      limits,
      maxTries,
      ...carried(config),
      tasks: validation.tasks,
      repeat: validation.repeat,
      model: { kind: 'trainer', checkpoint: { run, step } },
      exhaustedAsFailed: false,
    },
  };
}

/** Steps that a run makes in all: as configured, or as extended since. `result` is that of its row. */
export function stepsInAll(config: Pick<TrainConfig, 'steps'>, result: unknown): number {
  const { extendedTo, solvedAt } = (result ?? {}) as { extendedTo?: number; solvedAt?: number | null };
  return solvedAt ?? Math.max(config.steps, extendedTo ?? 0);
}
