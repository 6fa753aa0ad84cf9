/** What a run asks of its trainer, asked of the trainer before the run is claimed. */
import { resolve } from 'node:path';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { requirePlan } from '../../activities/trainer/plan.js';
import type { CampaignConfig } from '../../core/campaign.js';
import { Fault, UsageError } from '../../core/faults.js';
import type { TorchConfig } from '../../core/trainers/config.js';

const ASK_MS = 5_000;

/**
 * Throws `UsageError` for a trainer of another kind or model, and for settings that it does not support. One that does
 * not answer now is asked again before the run's first step samples anything.
 */
export async function requireTrainerSupport(config: CampaignConfig, trainerUrl: string): Promise<void> {
  const plan = config.kind === 'train' ? config.plan : config.kind === 'pipeline' ? config.train.plan : null;
  if (plan === null || trainerUrl === '') return;
  const trainer = config.kind === 'train' ? config.trainer : undefined;
  // Its job is no trainer of the stack's; what it supports was looked at before (cli/preflight).
  if (trainer?.kind === 'verl') return;
  const client = createTrainerClient({ url: trainerUrl });
  try {
    if (trainer?.kind === 'torch') {
      requireTorch(trainer, await client.capabilities(AbortSignal.timeout(ASK_MS)));
    }
    await requirePlan(client, plan, AbortSignal.timeout(ASK_MS));
  } catch (error) {
    const silent = error instanceof Fault && error.code === 'unreachable';
    if (!silent && (error as Error).name !== 'TimeoutError') throw error;
  }
}

/** The stack's trainer must be the one that the run file describes: a run never trains something else unseen. */
export function requireTorch(wanted: TorchConfig, capabilities: Readonly<Record<string, unknown>>): void {
  const { kind, format, model, numerics } = capabilities as {
    kind?: string;
    format?: string;
    model?: { folder?: string; lora?: string | null };
    numerics?: { dtype?: string };
  };
  const refuse = (place: string, expected: string, found: string): never => {
    throw new UsageError(
      `trainer.${place}`,
      expected,
      found,
      `Start the stack with it: ${startLine(wanted)}`,
    );
  };
  if (kind !== 'torch') refuse('kind', "torch, as the stack's trainer", `a stack with the ${kind} trainer`);
  const folder = resolve(wanted.model);
  if (model?.folder !== folder) refuse('model', folder, `a stack that trains ${model?.folder}`);
  const rank = wanted.lora ? `lora-r${wanted.lora.rank}-a${wanted.lora.alpha}-` : '';
  const lora = model?.lora ?? '';
  if (rank === '' ? lora !== '' : !lora.startsWith(rank)) {
    refuse(
      'lora',
      rank === '' ? 'every parameter trained' : rank.slice(0, -1),
      lora || 'every parameter trained',
    );
  }
  if (format !== wanted.format) refuse('format', wanted.format, String(format));
  if (numerics?.dtype !== wanted.dtype) refuse('dtype', wanted.dtype, String(numerics?.dtype));
}

function startLine({ model, lora, dtype, gradientCheckpointing, format }: TorchConfig): string {
  const args = [
    ...(lora ? [`--lora-rank ${lora.rank} --lora-alpha ${lora.alpha}`] : []),
    ...(dtype === 'float32' ? [] : [`--dtype ${dtype}`]),
    ...(gradientCheckpointing ? ['--gradient-checkpointing'] : []),
    ...(format === 'qwen3_xml' ? [] : [`--format ${format}`]),
  ].join(' ');
  const more = args === '' ? '' : ` STEADFAST_TRAINER_ARGS="${args}"`;
  return `steadfast down; STEADFAST_TRAINER=torch STEADFAST_TRAINER_MODEL=${resolve(model)}${more} steadfast up`;
}
