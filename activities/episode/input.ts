/** From the workflow's short reference to everything that one episode needs, looked up in the frozen configuration. */
import type { CampaignConfig, EpisodeLimits, ModelRef } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import { attemptKey, stepId } from '../../core/keys.js';
import type { EpisodeRef } from '../../core/orchestration.js';
import type { People } from '../../core/people.js';
import type { Sampling } from '../../core/policy.js';
import { seedOf } from '../../core/seed.js';

export interface EpisodeInput {
  readonly key: string;
  readonly taskId: string;
  readonly suite: string;
  readonly tryNumber: number;
  readonly lastTry: number;
  /** Hash of run seed and key: the same on every try. */
  readonly seed: string;
  readonly model: ModelRef;
  /** Weights to sample from; null for models that are served by others. */
  readonly weightVersion: string | null;
  readonly sampling: Sampling;
  readonly limits: EpisodeLimits;
  /** Absent in campaigns from before it was part of them: those of the worker's environment. */
  readonly people?: People | undefined;
}

/** What a campaign samples from; a training run, and what a pipeline starts, from the trainer. */
export function modelOf(config: CampaignConfig): ModelRef {
  return config.kind === 'probe' || config.kind === 'eval'
    ? config.model
    : { kind: 'trainer', checkpoint: 'base' };
}

/** Throws `Fault('ledger', retry: false)` for a reference that the campaign's configuration does not have. */
export function episodeInput(ref: EpisodeRef, config: CampaignConfig): EpisodeInput {
  const wrong = (message: string): Fault =>
    new Fault('ledger', `${ref.campaign}: ${message}`, { code: 'bad_reference', retry: false });
  if (config.kind === 'pipeline') throw wrong('a pipeline has no episodes of its own');
  const taskId = config.tasks[ref.task];
  if (taskId === undefined) throw wrong(`there is no task ${ref.task} among ${config.tasks.length}`);
  const owner = ref.step === undefined ? ref.campaign : stepId(ref.campaign, ref.step);
  const key = attemptKey(owner, taskId, ref.slot);
  const model = modelOf(config);
  const ours = model.kind === 'trainer' || model.kind === 'served';
  const weightVersion = ours ? ref.weightVersion : null;
  if (weightVersion === undefined) throw wrong(`the weights to sample ${key} from are not named`);
  return {
    key,
    taskId,
    suite: config.suite,
    tryNumber: ref.tryNumber,
    lastTry: ref.lastTry,
    seed: seedOf(config.seed, key),
    model,
    weightVersion,
    sampling: config.sampling,
    limits: config.limits,
    people: config.people,
  };
}
