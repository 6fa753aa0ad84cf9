/**
 * Verl's settings for a run, by their full names (Verl 0.9): everything that the run's results, memory or checkpoints
 * hang on is said, also where it is Verl's own default of today. Pure; one order, so that two runs can be compared line
 * by line.
 */
import type { TrainConfig } from '../campaign.js';
import type { VerlConfig } from '../trainers/config.js';

export type VerlValue = string | number | boolean | null | readonly string[];
/** In the order in which they are printed. */
export type VerlSettings = Readonly<Record<string, VerlValue>>;

/** What the settings follow from. */
export type VerlRun = Pick<TrainConfig, 'seed' | 'sampling' | 'limits' | 'steps' | 'shape' | 'plan'> &
  Pick<TrainConfig, 'saveEvery' | 'validateEvery'> & { readonly trainer: VerlConfig };

/** `name`: of the run, without its kind. */
export function verlSettings(name: string, run: VerlRun): VerlSettings {
  return { ...decided(name, run), ...run.trainer.overrides };
}

/** Names that parts of the run file decide: an override of one of them would say the same thing twice, differently. */
export function decidedNames(name: string, run: VerlRun): readonly string[] {
  return Object.keys(decided(name, run));
}

function decided(name: string, run: VerlRun): VerlSettings {
  return {
    ...algorithm(run),
    ...data(run),
    ...model(run.trainer),
    ...actor(run),
    ...rollout(run),
    ...rewards(run.trainer),
    ...trainer(name, run),
  };
}

/** GRPO: advantages within a group, no critic, no KL anywhere, groups without a signal replaced. */
function algorithm({ shape }: VerlRun): VerlSettings {
  return {
    'algorithm.adv_estimator': 'grpo',
    'algorithm.norm_adv_by_std_in_grpo': shape.advantage === 'group-std',
    'algorithm.use_kl_in_reward': false,
    'algorithm.filter_groups.enable': shape.maxRefillRounds > 0,
    'algorithm.filter_groups.metric': 'reward',
    'algorithm.filter_groups.max_num_gen_batches': 1 + shape.maxRefillRounds,
  };
}

function data({ trainer: { data: files }, shape, limits, seed }: VerlRun): VerlSettings {
  return {
    'data.train_files': files.train,
    'data.val_files': files.validation,
    'data.train_batch_size': shape.groups,
    'data.max_prompt_length': limits.promptTokens,
    'data.max_response_length': limits.tokensPerEpisode,
    'data.truncation': 'error',
    'data.filter_overlong_prompts': false,
    'data.return_raw_chat': true,
    'data.shuffle': true,
    'data.seed': seed,
  };
}

function model({ model: folder, memory }: VerlConfig): VerlSettings {
  return {
    'actor_rollout_ref.model.path': folder,
    'actor_rollout_ref.model.trust_remote_code': false,
    // Sequence parallelism needs it.
    'actor_rollout_ref.model.use_remove_padding': true,
    'actor_rollout_ref.model.enable_gradient_checkpointing': memory.gradientCheckpointing,
  };
}

function actor({ trainer, plan, shape, seed }: VerlRun): VerlSettings {
  const { strategy, memory, parallel, tokensPerGpu } = trainer;
  const prefix = 'actor_rollout_ref.actor';
  return {
    [`${prefix}.strategy`]: strategy,
    [`${prefix}.optim.optimizer`]: 'AdamW',
    [`${prefix}.optim.lr`]: plan.learningRate,
    [`${prefix}.optim.lr_scheduler_type`]: 'constant',
    [`${prefix}.optim.weight_decay`]: plan.weightDecay,
    [`${prefix}.optim.clip_grad`]: plan.maxGradNorm,
    [`${prefix}.grad_clip`]: plan.maxGradNorm,
    [`${prefix}.ppo_epochs`]: 1,
    // One update a step, of the whole batch.
    [`${prefix}.ppo_mini_batch_size`]: shape.groups,
    [`${prefix}.use_dynamic_bsz`]: true,
    [`${prefix}.ppo_max_token_len_per_gpu`]: tokensPerGpu,
    [`${prefix}.clip_ratio`]: plan.clip,
    [`${prefix}.clip_ratio_low`]: plan.clip,
    [`${prefix}.clip_ratio_high`]: plan.clip,
    [`${prefix}.clip_ratio_c`]: plan.dualClip,
    [`${prefix}.loss_agg_mode`]: plan.normalisation,
    [`${prefix}.entropy_coeff`]: 0,
    [`${prefix}.use_kl_loss`]: false,
    [`${prefix}.data_loader_seed`]: seed,
    [`${prefix}.fsdp_config.seed`]: seed,
    [`${prefix}.fsdp_config.param_offload`]: memory.offloadParameters,
    [`${prefix}.fsdp_config.optimizer_offload`]: memory.offloadOptimizer,
    [`${prefix}.ulysses_sequence_parallel_size`]: parallel.sequence,
    [`${prefix}.checkpoint.save_contents`]: ['model', 'optimizer', 'extra'],
  };
}

function rollout({ trainer, sampling, shape, seed }: VerlRun): VerlSettings {
  const { memory, parallel, modelLength, agentLoop } = trainer;
  const prefix = 'actor_rollout_ref.rollout';
  return {
    [`${prefix}.name`]: 'vllm',
    [`${prefix}.mode`]: 'async',
    [`${prefix}.n`]: shape.groupSize,
    [`${prefix}.temperature`]: sampling.temperature,
    // Verl and vLLM write "no limit" as -1.
    [`${prefix}.top_k`]: sampling.topK === 0 ? -1 : sampling.topK,
    [`${prefix}.top_p`]: sampling.topP,
    [`${prefix}.seed`]: seed,
    [`${prefix}.tensor_model_parallel_size`]: parallel.rolloutTensor,
    [`${prefix}.gpu_memory_utilization`]: memory.gpuUtilisation,
    [`${prefix}.max_model_len`]: modelLength,
    [`${prefix}.max_num_seqs`]: trainer.rollout.maxSequences,
    [`${prefix}.max_num_batched_tokens`]: trainer.rollout.maxBatchedTokens,
    [`${prefix}.enable_prefix_caching`]: true,
    [`${prefix}.enable_chunked_prefill`]: true,
    [`${prefix}.calculate_log_probs`]: true,
    [`${prefix}.logprobs_mode`]: 'raw_logprobs',
    [`${prefix}.log_prob_use_dynamic_bsz`]: true,
    [`${prefix}.log_prob_max_token_len_per_gpu`]: trainer.tokensPerGpu,
    [`${prefix}.multi_turn.enable`]: true,
    [`${prefix}.agent.default_agent_loop`]: agentLoop.name,
    [`${prefix}.agent.agent_loop_config_path`]: agentLoop.config,
    [`${prefix}.agent.num_workers`]: agentLoop.workers,
  };
}

function rewards({ reward }: VerlConfig): VerlSettings {
  if (reward === null) return {};
  return {
    'reward.custom_reward_function.path': reward.file,
    'reward.custom_reward_function.name': reward.function,
  };
}

function trainer(name: string, { trainer, steps, saveEvery, validateEvery }: VerlRun): VerlSettings {
  return {
    'trainer.project_name': 'steadfast',
    'trainer.experiment_name': name,
    // `file`: a JSON line a step, which the run's metrics are read from.
    'trainer.logger': ['console', 'file'],
    'trainer.nnodes': trainer.hosts.length,
    'trainer.n_gpus_per_node': trainer.hosts[0]!.gpus.length,
    'trainer.total_training_steps': steps,
    // Bounded by the steps; an epoch has at least one.
    'trainer.total_epochs': steps,
    'trainer.val_before_train': false,
    'trainer.test_freq': validateEvery > 0 ? validateEvery : -1,
    // Without it Verl would save nothing at all.
    'trainer.save_freq': saveEvery,
    'trainer.default_local_dir': trainer.checkpoints,
    // Old ones go when a newer one has been verified, which Verl does not do.
    'trainer.max_actor_ckpt_to_keep': null,
    'trainer.resume_mode': 'auto',
  };
}
