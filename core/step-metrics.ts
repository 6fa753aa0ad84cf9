/**
 * The metrics of a training step: the names under which a step's row stores them, and what they mean.
 * One table, read by the workflow that records them, `metrics.jsonl`, `status` and the report. Plain values, workflow-safe.
 */

export interface MetricSpec {
  readonly label: string;
  readonly unit: 'share' | 'nats' | 'tokens' | 'count' | 'number' | 'seconds';
  /** One sentence for the reader of a chart. */
  readonly about: string;
}

export const STEP_METRICS = {
  reward: {
    label: 'Reward',
    unit: 'share',
    about: 'mean reward of all clean episodes of the step, zero-variance groups included',
  },
  zeroVarianceShare: {
    label: 'Zero-variance groups',
    unit: 'share',
    about: 'share of completed groups whose rewards were all equal: no advantage, so they were replaced',
  },
  refillGroups: {
    label: 'Refills',
    unit: 'count',
    about: 'groups started to replace zero-variance or incomplete ones',
  },
  systemErrors: {
    label: 'System errors',
    unit: 'count',
    about: 'tries lost to infrastructure; tried again, never scored',
  },
  entropy: {
    label: 'Entropy',
    unit: 'nats',
    about: 'mean entropy of the policy per sampled token, before the update',
  },
  klToBase: {
    label: 'KL to the base',
    unit: 'nats',
    about: 'mean KL divergence to the base policy per sampled token (k3 estimator)',
  },
  responseTokens: { label: 'Response length', unit: 'tokens', about: 'mean sampled tokens per episode' },
  truncatedShare: {
    label: 'Truncated',
    unit: 'share',
    about: 'share of episodes with a turn cut off by the token limit',
  },
  gradNorm: { label: 'Gradient norm', unit: 'number', about: 'norm of the gradient before clipping' },
  clipFraction: {
    label: 'Clip fraction',
    unit: 'share',
    about: 'share of sampled tokens whose loss was clipped',
  },
  mismatchMean: {
    label: 'Sampler–trainer difference',
    unit: 'nats',
    about: 'mean difference of log-probabilities between sampler and trainer on the same tokens',
  },
  mismatchMax: {
    label: 'Largest sampler–trainer difference',
    unit: 'nats',
    about: 'maximum of that difference over the batch',
  },
  mismatchShare: {
    label: 'Tokens far off policy',
    unit: 'share',
    about: 'share of sampled tokens whose importance ratio lies outside [0.9, 1.1]',
  },
  importanceMean: {
    label: 'Importance weight',
    unit: 'number',
    about: 'mean truncated importance weight of the sampled tokens, where the run uses them',
  },
  importanceCapped: {
    label: 'Importance weights at the cap',
    unit: 'share',
    about: 'share of sampled tokens whose importance weight was truncated',
  },
  loss: { label: 'Loss', unit: 'number', about: 'clipped policy-gradient loss, token mean' },
  groupsStarted: {
    label: 'Groups started',
    unit: 'count',
    about: 'groups started by the step, refills included',
  },
  informativeGroups: {
    label: 'Informative groups',
    unit: 'count',
    about: 'groups with unequal rewards that entered the batch',
  },
  refillRounds: { label: 'Refill rounds', unit: 'count', about: 'rounds of replacement groups' },
  episodes: { label: 'Episodes', unit: 'count', about: 'clean episodes of the step' },
  tokens: {
    label: 'Sampled tokens',
    unit: 'tokens',
    about: 'sampled tokens in the batch: the denominator of the loss',
  },
  skipped: {
    label: 'Update skipped',
    unit: 'count',
    about: 'true when all advantages were zero and the weights stayed as they were',
  },
  validationPassAt1: {
    label: 'Held-out pass@1',
    unit: 'share',
    about: 'pass@1 on the held-out split, where it was evaluated after this step',
  },
  secondsSampling: {
    label: 'sampling',
    unit: 'seconds',
    about: 'wall time of episodes, refill rounds included',
  },
  secondsUpdate: {
    label: 'update',
    unit: 'seconds',
    about: 'wall time of forward, backward and optimizer step',
  },
  secondsPublish: {
    label: 'publish',
    unit: 'seconds',
    about: 'wall time until the new weights could be sampled',
  },
  secondsVerify: {
    label: 'sampler check',
    unit: 'seconds',
    about: 'wall time of comparing sampler and trainer after publishing',
  },
  secondsCheckpoint: {
    label: 'checkpoint',
    unit: 'seconds',
    about: 'wall time of writing and verifying a checkpoint',
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type StepMetric = keyof typeof STEP_METRICS;

/** What a step's row carries; a metric that was not measured is null. */
export type StepMetrics = Readonly<Partial<Record<StepMetric, number | boolean | null>>>;

/** Stages of a step in their order, for stacked charts. */
export const STEP_STAGES = [
  'secondsSampling',
  'secondsUpdate',
  'secondsPublish',
  'secondsVerify',
  'secondsCheckpoint',
] as const satisfies readonly StepMetric[];
