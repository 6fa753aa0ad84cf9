/**
 * Every default of the orchestration in one place: plain constants, importable by workflows
 * (so: no environment, no file system, no zod). Nothing redefines them.
 */

/** Task queues. GPU queues are per trainer host; `gpu` is the local one. */
export const QUEUES = { pipeline: 'pipeline', sandbox: 'sandbox', gpu: 'gpu' } as const;

/** The queue of one GPU host: its probes and what it serves. `host` is the name that run files and workers give it. */
export function hostQueue(host: string): string {
  return `${QUEUES.gpu}-${host}`;
}

/** The queue of a host's one server: a slot of its own, so that questions to the host never wait for it. */
export function serverQueue(host: string): string {
  return `${hostQueue(host)}-server`;
}

export const NAMESPACE = 'default';

/** Closed workflows are kept this long; identity is the ledger's, which forgets nothing. */
export const RETENTION_DAYS = 30;

/** Budgets of a Temporal payload in bytes as JSON; a test measures them in a real history. */
export const PAYLOAD_BUDGET = { runEpisode: 512, other: 4096 } as const;

/** Sampling of the reference run. Log-probabilities are of the full softmax at temperature 1 whatever these say. */
export const SAMPLING = { temperature: 1.0, topK: 20, topP: 0.95 } as const;

/**
 * The simulated user and the judge where a run file does not say otherwise. `rules`: the built-in ones.
 * Too few tokens: answers are cut off, which is a fault, never a message.
 */
export const PERSON = { model: 'rules', temperature: 0, maxTokens: 1_024 } as const;

/**
 * Limits of one episode. The agent's own limits end it as `failed` after grading; a wall clock ends it as a
 * system error, which is tried again and never scored.
 */
export const EPISODE_LIMITS = {
  /** Sampled tokens a call. Too low: calls are cut off and never executed. */
  tokensPerCall: 8_192,
  /** Sampled tokens an episode; then `token_budget`. */
  tokensPerEpisode: 106_496,
  /** Tokens of the first prompt. Longer is an error that names the task, never silent truncation. */
  promptTokens: 26_624,
  /** Answers of the simulated user; a task's own bound holds when it is lower. */
  userTurns: 10,
  /** Agent actions (a turn's tool calls, or a visible message); a task's own bound holds when it is lower. */
  agentActions: 60,
  /** Wall clock of a whole episode, ms. Too low: long episodes never count; too high: a hang holds a slot. */
  episodeMs: 30 * 60_000,
  /** Wall clock of one policy, user or judge message, ms. */
  messageMs: 5 * 60_000,
  /** Wall clock of one tool call, ms. */
  toolMs: 60_000,
} as const;

/**
 * No episode may have a longer clock, ms: what its activity is made for, and its sandbox's expiry follows. A worker that
 * dies meanwhile is found by its heartbeat, and a hang by the clock of its message or call, so a day costs nothing.
 */
export const MOST_EPISODE_MS = 24 * 60 * 60_000;

/**
 * How long one episode may wait for the capacity of rate-limited providers in all, ms. Its other clocks stand still
 * meanwhile. Too low: a queue at a provider becomes system errors; too high: slots are held by episodes that wait.
 */
export const CAPACITY_WAIT_MS = 60 * 60_000;

/** Tries of one attempt before it is `exhausted`. Executions lost with their worker do not count. */
export const MAX_TRIES = 3;

/** One GRPO step, as the reference run does it. */
export const STEP = {
  groups: 18,
  groupSize: 8,
  maxRefillRounds: 3,
  maxGroups: 72,
  minInformative: 6,
  refill: 'round',
  advantage: 'group-std',
} as const;

export const TRAINING = {
  steps: 50,
  saveEvery: 5,
  /** Newest checkpoints that stay; 0 keeps all. Fewer than 2: a damaged newest one costs the batches since the start. */
  keepLast: 3,
  /** And those of every so many steps; 0: none but the newest. */
  keepEvery: 10,
  /** 0: never evaluates between steps. */
  validateEvery: 0,
  seed: 42,
} as const;

export const UPDATE_PLAN = {
  learningRate: 1e-6,
  weightDecay: 0,
  clip: 0.2,
  dualClip: 3.0,
  maxGradNorm: 1.0,
  normalisation: 'token-mean',
} as const;

/** Training with Verl where a run file does not say otherwise: the reference run's, on hosts of eight GPUs. */
export const VERL = {
  format: 'qwen3_xml',
  strategy: 'fsdp',
  parallel: { sequence: 4, rolloutTensor: 4 },
  memory: {
    gpuUtilisation: 0.7,
    offloadParameters: true,
    offloadOptimizer: true,
    gradientCheckpointing: true,
  },
  rollout: { maxSequences: 16, maxBatchedTokens: 8_192 },
  agentLoopWorkers: 8,
  /** Starts after the first. Too many: a job that cannot run burns GPU hours all night. */
  restarts: 5,
} as const;

/** Training with PyTorch in one process where a run file does not say otherwise. */
export const TORCH = { format: 'qwen3_xml', dtype: 'bfloat16', gradientCheckpointing: true } as const;

/**
 * Sampler against trainer on a step's sampled tokens: beyond either number the update is refused and the run pauses.
 * Above what two engines of the same weights differ by in bfloat16, below what other weights or another prompt give
 * (docs/sampling.md).
 */
export const MISMATCH_BOUND = { meanAbove: 0.1, shareAbove: 0.3 } as const;

/** After each publish the sampler's and the trainer's log-probabilities must agree within this, nats. */
export const PROBE_BOUND = 1e-3;

/** Attempts of one shard workflow. */
export const SHARD_SIZE = 1_000;
/**
 * A shard goes on as a new execution before its history is long (Temporal suggests 4,096 events). An attempt costs 3.3
 * events where many end at once, and up to 6 where each wakes the workflow alone.
 */
export const SHARD_HISTORY = { mostEvents: 3_900, eventsPerAttempt: 6 } as const;
/** Shards of one campaign that run at the same time; they divide the lanes. */
export const PARALLEL_SHARDS = 4;
/** Episodes of one campaign in flight. Not part of its identity: it changes speed, never results. */
export const LANES = 48;
/** More is a slip of the keyboard: a workflow may have 2,000 activities pending, and a shard needs room for its own. */
export const MAX_LANES = 1_000;

/**
 * Levels of the sandbox queue, by priority of a campaign: Temporal's priority keys, of which 1 is the first of 5 and 3
 * what everything else has; and the campaign's weight among those of its level (workflows/episode-queue.ts).
 */
export const SHARING = {
  high: { level: 2, weight: 16 },
  middle: { level: 3, weight: 4 },
  low: { level: 4, weight: 1 },
} as const;

/**
 * What one episode takes where its tool servers run, by isolation (workers/slots.ts; docs/sandboxes.md has how it was
 * measured). Memory: too low, a machine full of episodes runs out of it; a container's bound, since its guest may mean
 * harm. `perCpu`: more wait for the CPUs rather than for a model.
 */
export const EPISODE_NEEDS = {
  inline: { mebibytes: 16, perCpu: 24 },
  process: { mebibytes: 192, perCpu: 24 },
  docker: { mebibytes: 544, perCpu: 16 },
} as const;
/** Containers that wait, started ahead, for the next episodes of one sandbox worker (workers/warm.ts). */
export const WARM = { most: 16, mostAsked: 256, memory: 0.25 } as const;
/** Share of the machine's memory that episodes may have. */
export const MEMORY_FOR_EPISODES = 0.75;
/** Episodes of one sandbox worker process, which is one thread: more are more processes. */
export const MOST_SANDBOX_SLOTS = 48;
/** How long episodes in flight may go on after SIGTERM, ms; then they are cancelled, and run again elsewhere. */
export const DRAIN_MS = 25_000;
/** After the grace: releases take up to 15 s then; what sends SIGKILL waits no longer (docs/workers.md). */
export const UNANSWERED_MS = 14_500;

/** Nightly evaluations (docs/nightly.md), where a schedule does not say otherwise. */
export const NIGHTLY = {
  timezone: 'UTC',
  jitterMs: 0,
  /** Too low: a night that Temporal slept through is not made up for; too high: yesterday's runs at noon. */
  catchUpMs: 60 * 60_000,
} as const;

export const HEARTBEAT = {
  /** A worker that is silent for so long is taken for dead. Too low: a busy machine repeats episodes. */
  timeoutMs: 20_000,
  everyMs: 4_000,
} as const;

/**
 * Activity options by kind. Schedule-to-start stays unset: on a fan-out an expired one is work that silently never
 * ran. `maximumAttempts` counts executions lost with a worker or a database, not tries of an attempt.
 */
export const ACTIVITIES = {
  episode: {
    /** Above every episode's own clock and allowance for waiting, so that those speak first. */
    startToCloseTimeout: MOST_EPISODE_MS + CAPACITY_WAIT_MS + 5 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 20_000, maximumAttempts: 50 },
  },
  ledger: {
    startToCloseTimeout: 5 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 20_000 },
  },
  /** A message about a night: told again for about two minutes, then its failure is recorded. */
  webhook: {
    startToCloseTimeout: 30_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 1_000, backoffCoefficient: 3, maximumInterval: 60_000, maximumAttempts: 6 },
  },
  /** Until something is ready that takes as long as it takes; it is heard of meanwhile. */
  waiting: {
    startToCloseTimeout: 24 * 60 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 20_000 },
  },
  /** As long as anybody needs it: what bounds it is that it is heard of, and that somebody takes it up. */
  server: {
    startToCloseTimeout: 90 * 24 * 60 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000, maximumAttempts: 5 },
  },
  /** A trainer's job, which is bounded by its own restarts alone: a worker that is lost is replaced by the next. */
  job: {
    startToCloseTimeout: 90 * 24 * 60 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 10_000 },
  },
  /**
   * A question to a host before a run. Nothing waits for it but a person, so a worker that does not take it up is an
   * answer, too. Too low: a busy machine is taken for a dead one.
   */
  host: {
    scheduleToStartTimeout: 30_000,
    /** The first time that a model is hashed is the longest of all answers. */
    startToCloseTimeout: 30 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { maximumAttempts: 1 },
  },
  gpu: {
    startToCloseTimeout: 60 * 60_000,
    heartbeatTimeout: HEARTBEAT.timeoutMs,
    retry: { initialInterval: 500, backoffCoefficient: 2, maximumInterval: 10_000 },
  },
} as const;

/** Verl's own trainer as one job (docs/verl.md). */
export const JOB = {
  /** No new metrics for so long, from the start on: it hangs. Too low: a long step, or a slow start, is killed. */
  silentMs: 4 * 60 * 60_000,
  backoffMs: { first: 10_000, longest: 5 * 60_000 },
  /** From SIGTERM to SIGKILL: Ray ends its actors meanwhile. */
  graceMs: 60_000,
  lookMs: 1_000,
  /** Between two looks whether a host that somebody else has is free. */
  hostsMs: 2_000,
  /**
   * The process of a run that has paused or ended, on a host that was not heard of for so long, keeps the run's other
   * hosts no longer. Too low: a worker that is started again finds them taken.
   */
  hostGoneMs: 15 * 60_000,
  tidyMs: 30_000,
  /** Steps in a row without finite loss or gradient. One alone is an update that Verl leaves out by itself. */
  notFiniteSteps: 3,
} as const;

/** How long a GPU activity waits for a trainer that does not answer before it fails and is tried again. */
export const TRAINER_WAIT_MS = 10 * 60_000;

/** How vLLM is started where nobody says otherwise: the reference's evaluation (core/serving/settings.ts says what each is). */
export const VLLM = {
  tensorParallel: 8,
  dtype: 'bfloat16',
  maxModelLength: 262_144,
  memoryUtilisation: 0.85,
  maxSequences: 16,
  maxBatchedTokens: 8_192,
  reasoningParser: 'qwen3',
  toolCallParser: 'qwen3_xml',
  prefixCaching: true,
  chunkedPrefill: true,
  languageModelOnly: true,
  extraArguments: [],
} as const;

/** A server of weights on a GPU host (docs/serving.md). */
export const SERVING = {
  /** From its start to its first good completion, ms. Too low: a large model never comes up. */
  startMs: 45 * 60_000,
  /** Merging a sharded checkpoint, ms; and how long it may write nothing. */
  mergeMs: 3 * 60 * 60_000,
  mergeSilentMs: 20 * 60_000,
  /** How often it is asked for a completion, and how long that may take. */
  healthEveryMs: 15_000,
  canaryMs: 20_000,
  /** Neither a completion nor a token in so long: it hangs. Too low: a server under load is killed. */
  hungMs: 3 * 60_000,
  /** Starts again after a failure, one after the other, before its host is given up. */
  restarts: 4,
  backoffMs: { first: 2_000, longest: 60_000 },
  /** Ready for so long, it has earned all its restarts again. */
  stableMs: 15 * 60_000,
  /** From SIGTERM to SIGKILL. */
  graceMs: 15_000,
  /** How often whoever keeps a server looks whether it lives, and asks the ledger whether it is still wanted. */
  lookMs: 1_000,
  wantedMs: 5_000,
  /** A server whose keeper was not heard of for so long is ended by the next sweep of its host. */
  keptMs: 15 * 60_000,
  /** A host that takes nothing from its queue for so long is passed over. Too low: one that is being restarted is. */
  hostMs: 60_000,
  /** A host that the ledger has not heard of for so long polls no more. */
  seenMs: 5 * 60_000,
  /** Times that every host is tried before the serving has failed, and the pause between, ms. */
  rounds: 3,
  roundMs: 30_000,
  /** How long a campaign's need lasts before its workflow says it again or the campaign is running, ms. */
  claimMs: 10 * 60_000,
  /** How long nothing may be noted of a serving before its workflow is started again, ms: above `hostMs` and `roundMs`. */
  idleMs: { wanted: 90_000, other: 5 * 60_000 },
} as const;
