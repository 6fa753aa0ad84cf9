/** From what a person wrote (run file and flags) to the whole configuration of a campaign. */
import { benchmarkExclusions } from '../../activities/campaign/pool.js';
import type { AttemptsConfig, EpisodeLimits, PipelineConfig, TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { nearestFew } from '../../core/nearest.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { SELECTION_DEFAULTS } from '../../core/selection/options.js';
import { splitIds } from '../../core/selection/split.js';
import type { Suite, TaskRef } from '../../core/suite.js';
import { updateSettings } from '../../core/update-settings.js';
import {
  EPISODE_LIMITS,
  MAX_TRIES,
  MISMATCH_BOUND,
  MOST_EPISODE_MS,
  SAMPLING,
  STEP,
  TRAINING,
  UPDATE_PLAN,
} from '../../temporal.config.js';
import { defined } from './defined.js';
import { resolveModel } from './model.js';
import { resolvePeople } from './people.js';
import { resolveTrainer } from './trainer.js';

/** The suite's tasks of a split, or the listed ones. Throws `UsageError` for ids that the suite does not have. */
export async function chooseTasks(
  suite: Suite,
  wanted: 'train' | 'benchmark' | readonly string[],
): Promise<readonly string[]> {
  const refs = await suite.tasks();
  if (typeof wanted === 'string') return refs.filter((ref) => ref.split === wanted).map((ref) => ref.id);
  const known = new Set(refs.map((ref) => ref.id));
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length === 0) return wanted;
  const near = nearestFew(unknown[0]!, known, 3);
  throw new UsageError(
    'task list',
    `tasks of suite ${suite.name}`,
    `${unknown.length} unknown: ${unknown.slice(0, 5).join(', ')}`,
    near.length > 0 ? `Nearest: ${near.join(', ')}` : undefined,
  );
}

export const DEFAULT_SUITE = 'deskbench';

function common(file: RunFile, suite: Suite) {
  const asked = { ...suite.limits, ...defined(file.limits) };
  const limits = { ...EPISODE_LIMITS, ...asked, episodeMs: asked.episodeMs ?? episodeClock(asked) };
  requireEpisodeClock('limits.episodeMs', limits.episodeMs);
  return {
    suite: suite.name,
    suiteDigest: suite.digest,
    seed: file.seed ?? TRAINING.seed,
    sampling: { ...SAMPLING, ...defined(file.sampling) },
    limits,
    maxTries: file.maxTries ?? MAX_TRIES,
    people: resolvePeople(file, suite),
    ...(suite.notComparable?.length ? { notComparable: suite.notComparable } : {}),
  };
}

/**
 * The clock of a whole episode where nobody gives one, ms. Messages that may take longer than they do by default would
 * hardly ever reach their own clock under the usual one, so then it is what all messages and calls of an episode may
 * take together, bounded.
 */
export function episodeClock(asked: Partial<EpisodeLimits>): number {
  const { userTurns, agentActions, messageMs, toolMs } = { ...EPISODE_LIMITS, ...asked };
  if (messageMs <= EPISODE_LIMITS.messageMs) return EPISODE_LIMITS.episodeMs;
  const all = (userTurns + agentActions) * messageMs + agentActions * toolMs;
  return Math.min(MOST_EPISODE_MS, Math.max(EPISODE_LIMITS.episodeMs, all));
}

/** Temporal would end a longer episode from outside, and play it again and again. Throws `UsageError`. */
export function requireEpisodeClock(place: string, episodeMs: number): void {
  if (episodeMs <= MOST_EPISODE_MS) return;
  const most = `at most ${MOST_EPISODE_MS}, the clock that episode activities are made for`;
  throw new UsageError(place, most, String(episodeMs));
}

/** Throws `UsageError`. */
export async function attemptsConfig(
  kind: 'probe' | 'eval',
  file: RunFile,
  suite: Suite,
  tasks: readonly string[],
): Promise<AttemptsConfig> {
  if (tasks.length === 0) throw new UsageError('tasks', 'at least one task', 'none');
  const repeat = (kind === 'probe' ? file.probe?.repeat : file.benchmark?.repeat) ?? REPEAT[kind];
  requireSize(kind, tasks, repeat);
  return {
    kind,
    ...common(file, suite),
    tasks,
    repeat,
    model: await resolveModel(file.model),
    exhaustedAsFailed: file.benchmark?.exhaustedAsFailed ?? false,
  };
}

/** Attempts a task by default: 8 to place a task in a band, 20 to call it dependable. */
const REPEAT = { probe: 8, eval: 20 } as const;

/** Planned attempts are rows that are read as a whole. */
const MOST_ATTEMPTS = 1_000_000;

function requireSize(what: string, tasks: readonly string[], repeat: number): void {
  if (tasks.length * repeat <= MOST_ATTEMPTS) return;
  const found = `${tasks.length} tasks × ${repeat}`;
  throw new UsageError(`${what} repeat`, `at most ${MOST_ATTEMPTS} attempts in all`, found);
}

/** Benchmark tasks are evaluated, never probed or trained on. Throws `UsageError` for a list with one. */
export async function refuseBenchmark(place: string, suite: Suite, ids: readonly string[]): Promise<void> {
  const refs: readonly TaskRef[] = await suite.tasks();
  const benchmark = new Set(refs.filter((ref) => ref.split === 'benchmark').map((ref) => ref.id));
  const leaked = ids.filter((id) => benchmark.has(id));
  if (leaked.length > 0) throw new UsageError(place, 'no benchmark task', leaked.slice(0, 5).join(', '));
}

/** Golden calls are test material: where the scripted policy plays them, it is no model to be probed. Throws `UsageError`. */
export function refuseGolden(place: string, suite: Suite, model: RunFile['model']): void {
  if (model?.kind !== 'scripted' || !('goldenCalls' in suite)) return;
  throw new UsageError(place, 'a model', `scripted, which plays the golden calls of suite ${suite.name}`);
}

/**
 * The pool must fill one batch, and holds no benchmark task. Throws the first `UsageError` if not. With `validateEvery`
 * a part of it is held out, and never trained on.
 */
export async function trainConfig(
  file: RunFile,
  suite: Suite,
  pool: readonly string[],
): Promise<TrainConfig> {
  const [problem] = await trainProblems(file, suite, pool);
  if (problem) throw problem;
  return uncheckedTrainConfig(file, suite, pool);
}

/** Everything for which `trainConfig` would refuse: a preflight lists them all. */
export async function trainProblems(
  file: RunFile,
  suite: Suite,
  pool: readonly string[],
): Promise<readonly UsageError[]> {
  const problems: UsageError[] = [];
  const shape = { ...STEP, ...defined(file.train?.shape) };
  try {
    await refuseBenchmark('training pool', suite, pool);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    problems.push(error);
  }
  const { train: tasks, test: heldOut } = splitPool(file, pool);
  if ((file.train?.validateEvery ?? TRAINING.validateEvery) > 0 && heldOut.length === 0) {
    const expected = 'a pool of which a part can be held out';
    problems.push(new UsageError('train.validateEvery', expected, `${pool.length} tasks`));
  } else if (tasks.length < shape.groups) {
    const found = `${tasks.length}${heldOut.length > 0 ? `, and ${heldOut.length} held out` : ''}`;
    problems.push(new UsageError('training pool', `at least ${shape.groups} tasks, one batch`, found));
  }
  if (shape.maxGroups < shape.groups || shape.minInformative > shape.groups) {
    const found = `${shape.minInformative}, ${shape.groups}, ${shape.maxGroups}`;
    problems.push(new UsageError('train.shape', 'minInformative ≤ groups ≤ maxGroups', found));
  }
  return problems;
}

function splitPool(file: RunFile, pool: readonly string[]) {
  const validateEvery = file.train?.validateEvery ?? TRAINING.validateEvery;
  if (validateEvery === 0) return { train: pool, test: [] };
  return splitIds(pool, SELECTION_DEFAULTS.testFraction, file.seed ?? TRAINING.seed);
}

/** The configuration that `trainConfig` gives where it refuses nothing. Throws `UsageError` for what has no meaning. */
export function uncheckedTrainConfig(file: RunFile, suite: Suite, pool: readonly string[]): TrainConfig {
  const { train: tasks, test: heldOut } = splitPool(file, pool);
  const shared = common(file, suite);
  const trainer = resolveTrainer(file.trainer, shared.limits);
  return {
    kind: 'train',
    ...shared,
    tasks,
    ...(trainer ? { trainer } : {}),
    from: 'base',
    steps: file.train?.steps ?? TRAINING.steps,
    shape: { ...STEP, ...defined(file.train?.shape) },
    plan: updateSettings(UPDATE_PLAN, MISMATCH_BOUND, file.train?.plan),
    saveEvery: file.train?.saveEvery ?? TRAINING.saveEvery,
    ...keepOf(file.train),
    validateEvery: file.train?.validateEvery ?? TRAINING.validateEvery,
    validation: { tasks: heldOut, repeat: file.train?.validationRepeat ?? 4 },
  };
}

/** Left out where nobody asks, so that runs from before there was a choice keep their identity. */
function keepOf(train: RunFile['train']): Pick<TrainConfig, 'keep'> {
  if (train?.keepLast === undefined && train?.keepEvery === undefined) return {};
  return {
    keep: { last: train.keepLast ?? TRAINING.keepLast, every: train.keepEvery ?? TRAINING.keepEvery },
  };
}

/** What cannot work is refused here, before the first candidate is probed. Throws `UsageError`. */
export async function pipelineConfig(file: RunFile, suite: Suite): Promise<PipelineConfig> {
  requireBase(file.model);
  if (file.trainer?.kind === 'verl') {
    const fix = 'Its stages are campaigns of their own: steadfast probe, select, train, evaluate.';
    throw new UsageError(
      'trainer.kind',
      'the trainer of the stack, which a pipeline trains with',
      '"verl"',
      fix,
    );
  }
  if (file.screen) {
    const fix = 'Probe with it by itself: steadfast probe';
    throw new UsageError('screen', 'none, since a pipeline probes every candidate', 'a model', fix);
  }
  const candidates = await chooseTasks(suite, 'train');
  const {
    suite: name,
    suiteDigest,
    tasks: _tasks,
    kind: _kind,
    seed,
    sampling,
    limits,
    maxTries,
    people,
    ...train
  } = await trainConfig(file, suite, candidates);
  const probe = {
    tasks: spread(candidates, file.probe?.limit),
    repeat: file.probe?.repeat ?? REPEAT.probe,
  };
  const selection = {
    minCleanRuns: file.selection?.minCleanRuns ?? Math.min(3, probe.repeat),
    retainBands: file.selection?.retainBands ?? ['hard', 'medium', 'easy'],
  };
  const benchmark = {
    tasks: spread(await chooseTasks(suite, 'benchmark'), file.benchmark?.limit),
    repeat: file.benchmark?.repeat ?? REPEAT.eval,
  };
  requireSize('probe', probe.tasks, probe.repeat);
  requireSize('benchmark', benchmark.tasks, benchmark.repeat);
  requireChoice(await suite.tasks(), probe, selection.minCleanRuns, train.shape.groups);
  return {
    kind: 'pipeline',
    suite: name,
    suiteDigest,
    seed,
    sampling,
    limits,
    maxTries,
    ...(people ? { people } : {}),
    probe,
    selection,
    benchmark,
    // What is held out is a part of the pool, which is selected when the candidates have been probed.
    train: { ...train, validation: { ...train.validation, tasks: [] } },
    prices: file.prices ?? null,
  };
}

/** A pipeline trains the trainer's base; another model in its file would be ignored, unseen. */
function requireBase(model: RunFile['model']): void {
  if (model === undefined || (model.kind === 'trainer' && model.checkpoint === 'base')) return;
  const found = model.kind === 'trainer' ? 'a checkpoint' : `a model of kind ${model.kind}`;
  throw new UsageError('model', "the trainer's base, which a pipeline trains", found, 'Leave it away.');
}

/** Candidates that selection may keep must be enough for one batch, whatever the probe will say of them. */
function requireChoice(
  refs: readonly TaskRef[],
  probe: PipelineConfig['probe'],
  minCleanRuns: number,
  groups: number,
): void {
  if (minCleanRuns > probe.repeat) {
    const most = `at most ${probe.repeat}, the attempts of each candidate`;
    throw new UsageError('selection.minCleanRuns', most, String(minCleanRuns));
  }
  const excluded = benchmarkExclusions(refs);
  const eligible = probe.tasks.filter((id) => !excluded.has(id));
  if (eligible.length >= groups) return;
  throw new UsageError(
    'probe.limit',
    `at least ${groups} candidates that are no benchmark's, one batch`,
    `${eligible.length} of ${probe.tasks.length}`,
    'Probe more candidates, or train with fewer groups.',
  );
}

/** At most `limit` of the tasks, evenly over the list, so that every template keeps its share. */
export function spread(tasks: readonly string[], limit = tasks.length): readonly string[] {
  if (limit >= tasks.length) return tasks;
  return Array.from({ length: limit }, (_, index) => tasks[Math.floor((index * tasks.length) / limit)]!);
}
