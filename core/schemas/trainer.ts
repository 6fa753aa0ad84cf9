/** `trainer` of a run file: which trainer, of which model, on which machines. What is absent has a default. */
import { z } from 'zod';
import { HOST_NAME } from '../cluster.js';
import { DTYPES, type VllmSettings } from '../serving/settings.js';

const count = z.int().min(1).max(1_000_000);
const MOST_GPUS = 1_024;
const gpuCount = z.int().min(1).max(MOST_GPUS);
const share = z.number().positive().max(1);
const absolute = z.string().regex(/^\//, 'an absolute path');
const hostName = z.string().regex(HOST_NAME, 'a name of letters, digits, dots and dashes');
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 of 64 hex digits');

/** Verl has settings like `prompt_key` and `tokenizer`, which are none. */
const NO_SECRET = /^(?!.*(?:api_?key|secret|password|access_?token)).*$/i;

/** `serving` of a run file; what is absent is `VLLM` of temporal.config.ts. */
export const servingSchema = z.strictObject({
  tensorParallel: count.optional(),
  dtype: z.enum(DTYPES).optional(),
  maxModelLength: count.optional(),
  memoryUtilisation: share.optional(),
  maxSequences: count.optional(),
  maxBatchedTokens: count.optional(),
  reasoningParser: z.string().min(1).nullable().optional(),
  toolCallParser: z.string().min(1).nullable().optional(),
  prefixCaching: z.boolean().optional(),
  chunkedPrefill: z.boolean().optional(),
  languageModelOnly: z.boolean().optional(),
  extraArguments: z.array(z.string().min(1)).optional(),
} satisfies Record<keyof VllmSettings, z.ZodType>);

const torch = z.strictObject({
  kind: z.literal('torch'),
  model: z.string().min(1),
  format: z.string().min(1).optional(),
  host: hostName.optional(),
  dtype: z.enum(['float32', 'bfloat16']).optional(),
  gradientCheckpointing: z.boolean().optional(),
  lora: z.strictObject({ rank: count, alpha: z.number().positive().optional() }).optional(),
  serving: servingSchema.optional(),
});

const verl = z.strictObject({
  kind: z.literal('verl'),
  model: z.string().min(1),
  format: z.string().min(1).optional(),
  modelDigest: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/, 'the digest that --dry-run prints, sha256:…')
    .optional(),
  /** GPUs of a host: how many, or which. No machine has more than the bound: it is a slip of the keyboard. */
  hosts: z
    .array(
      z.strictObject({
        name: hostName,
        gpus: z.union([gpuCount, z.array(z.int().min(0)).nonempty().max(MOST_GPUS)]),
      }),
    )
    .nonempty(),
  python: absolute,
  checkpoints: absolute,
  data: z.strictObject({ train: absolute, validation: absolute.optional() }),
  agentLoop: z.strictObject({
    config: absolute,
    name: z.string().min(1),
    workers: count.optional(),
  }),
  reward: z.strictObject({ file: absolute, function: z.string().min(1) }).optional(),
  strategy: z.enum(['fsdp', 'fsdp2']).optional(),
  parallel: z.strictObject({ sequence: count.optional(), rolloutTensor: count.optional() }).optional(),
  memory: z
    .strictObject({
      gpuUtilisation: share.optional(),
      offloadParameters: z.boolean().optional(),
      offloadOptimizer: z.boolean().optional(),
      gradientCheckpointing: z.boolean().optional(),
    })
    .optional(),
  modelLength: count.optional(),
  tokensPerGpu: count.optional(),
  rollout: z.strictObject({ maxSequences: count.optional(), maxBatchedTokens: count.optional() }).optional(),
  pins: z.strictObject({
    packages: z.record(z.string(), z.string().min(1)),
    files: z.array(z.strictObject({ file: z.string().min(1), sha256 })),
  }),
  restarts: z.int().min(0).max(1_000).optional(),
  /** From five minutes, below which a healthy start is taken for one that hangs, to a week. */
  silentMs: z.int().min(300_000).max(604_800_000).optional(),
  overrides: z
    .record(
      z
        .string()
        .regex(/^\+?[A-Za-z_][\w.]*$/, 'the full name of a setting of Verl')
        // What is here is written to the ledger and into command lines.
        .regex(NO_SECRET, 'a setting that holds no secret (Verl reads those from its environment)'),
      z.union([z.string(), z.number(), z.boolean(), z.null()]),
    )
    .optional(),
  serving: servingSchema.optional(),
});

export const trainerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('embedded') }),
  torch,
  verl,
]);

export type WrittenTrainer = z.infer<typeof trainerSchema>;
export type WrittenTorch = z.infer<typeof torch>;
export type WrittenVerl = z.infer<typeof verl>;
