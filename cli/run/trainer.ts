/** The trainer of a run: from what a person wrote to all of it. Pure; what it can do is asked of it elsewhere. */
import path from 'node:path';
import type { EpisodeLimits } from '../../core/campaign.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { WrittenTorch, WrittenVerl } from '../../core/schemas/trainer.js';
import type { TorchConfig, TrainerConfig, VerlConfig } from '../../core/trainers/config.js';
import { TORCH, VERL } from '../../temporal.config.js';
import { defined } from './defined.js';

/** Undefined for the stack's own. Throws `UsageError` for a word that has no meaning. */
export function resolveTrainer(
  written: RunFile['trainer'],
  limits: Pick<EpisodeLimits, 'promptTokens' | 'tokensPerEpisode'>,
): TrainerConfig | undefined {
  if (written === undefined || written.kind === 'embedded') return undefined;
  const format = written.format ?? (written.kind === 'verl' ? VERL : TORCH).format;
  outputFormat(format, 'trainer.format');
  return written.kind === 'verl' ? verlConfig(written, format, limits) : torchConfig(written, format);
}

function torchConfig(written: WrittenTorch, format: string): TorchConfig {
  const { model, host = null, lora, serving } = written;
  return {
    kind: 'torch',
    model,
    format,
    host,
    dtype: written.dtype ?? TORCH.dtype,
    gradientCheckpointing: written.gradientCheckpointing ?? TORCH.gradientCheckpointing,
    // Twice the rank: the usual scale, whatever the rank.
    lora: lora ? { rank: lora.rank, alpha: lora.alpha ?? 2 * lora.rank } : null,
    serving: serving ? defined(serving) : null,
  };
}

function verlConfig(
  written: WrittenVerl,
  format: string,
  { promptTokens, tokensPerEpisode }: Pick<EpisodeLimits, 'promptTokens' | 'tokensPerEpisode'>,
): VerlConfig {
  const parallel = { ...VERL.parallel, ...defined(written.parallel) };
  const modelLength = written.modelLength ?? promptTokens + tokensPerEpisode;
  const { data, agentLoop, pins } = written;
  return {
    kind: 'verl',
    model: written.model,
    format,
    modelDigest: written.modelDigest ?? null,
    hosts: written.hosts.map(({ name, gpus }) => ({
      name,
      gpus: typeof gpus === 'number' ? Array.from({ length: gpus }, (_, index) => index) : gpus,
    })),
    python: written.python,
    checkpoints: path.posix.normalize(written.checkpoints).replace(/(?<=.)\/$/, ''),
    // Verl reads one even where nothing is validated.
    data: { train: data.train, validation: data.validation ?? data.train },
    agentLoop: { ...agentLoop, workers: agentLoop.workers ?? VERL.agentLoopWorkers },
    reward: written.reward ?? null,
    strategy: written.strategy ?? VERL.strategy,
    parallel,
    memory: { ...VERL.memory, ...defined(written.memory) },
    modelLength,
    // The longest episode fits into one micro-batch of the GPUs that share its sequence.
    tokensPerGpu: written.tokensPerGpu ?? Math.ceil(modelLength / parallel.sequence),
    rollout: { ...VERL.rollout, ...defined(written.rollout) },
    pins: { packages: pins.packages, files: pins.files },
    restarts: written.restarts ?? VERL.restarts,
    ...(written.silentMs === undefined ? {} : { silentMs: written.silentMs }),
    overrides: written.overrides ?? {},
    serving: defined(written.serving),
  };
}
