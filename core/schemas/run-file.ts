/**
 * The run file: what a person writes (YAML or JSON) to say how to probe, select, train and evaluate. Every key is
 * optional; defaults are those of the reference run. Validated once, at the edge; unknown keys are errors.
 */
import { z } from 'zod';
import type { EpisodeLimits, StepShape } from '../campaign.js';
import { UsageError } from '../faults.js';
import { isPoolName, POOL_FORM, PRIORITIES } from '../sharing.js';
import type { UpdatePlan } from '../trainer.js';
import { problemsOf } from './problems.js';
import { servingSchema, trainerSchema } from './trainer.js';

/** Above its bound a number is a slip of the keyboard: refused here, before it becomes a run that never ends. */
const upTo = (most: number) => z.int().min(1).max(most);
const count = upTo(1_000_000);
const countOrNone = z.int().min(0).max(1_000_000);
/** A day; timers of the platform overflow at 24 days and would end at once. */
const milliseconds = upTo(86_400_000);
const repeat = upTo(10_000);
const share = z.number().min(0).max(1);
const positive = z.number().positive();

const limits = z.strictObject({
  tokensPerCall: count.optional(),
  tokensPerEpisode: count.optional(),
  promptTokens: count.optional(),
  userTurns: countOrNone.optional(),
  agentActions: count.optional(),
  episodeMs: milliseconds.optional(),
  messageMs: milliseconds.optional(),
  toolMs: milliseconds.optional(),
} satisfies Record<keyof EpisodeLimits, z.ZodType>);

const shape = z.strictObject({
  groups: upTo(1_000).optional(),
  groupSize: z.int().min(2).max(1_000).optional(),
  maxRefillRounds: countOrNone.optional(),
  maxGroups: upTo(10_000).optional(),
  minInformative: count.optional(),
  refill: z.enum(['round', 'eager']).optional(),
  advantage: z.enum(['group-std', 'none']).optional(),
} satisfies Record<keyof StepShape, z.ZodType>);

const plan = z.strictObject({
  learningRate: positive.optional(),
  weightDecay: z.number().min(0).optional(),
  clip: positive.optional(),
  dualClip: positive.optional(),
  maxGradNorm: positive.optional(),
  normalisation: z.literal('token-mean').optional(),
  importance: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('none') }),
      z.strictObject({ kind: z.literal('truncated'), cap: z.number().min(0.01).max(1_000).optional() }),
    ])
    .optional(),
  mismatch: z
    .union([
      z.literal('none'),
      z.strictObject({ meanAbove: z.number().min(0).optional(), shareAbove: share.optional() }),
    ])
    .optional(),
} satisfies Record<keyof UpdatePlan, z.ZodType>);

const environmentVariable = z
  .string()
  .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of an environment variable')
  .nullable()
  .default(null);

/** Of an endpoint. It is written to the ledger and into messages, so a password has no place in it. */
export const endpointUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !hasPassword(text), { error: 'no user or password in it (name a variable: apiKeyEnv)' });

function hasPassword(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username + password !== '';
}

const provider = z.string().regex(/^[\w.:-]{1,100}$/, 'a name of letters, digits and any of . : _ -');

const person = z
  .strictObject({
    baseUrl: endpointUrl.optional(),
    model: z.string().min(1).optional(),
    apiKeyEnv: environmentVariable,
    temperature: z.number().min(0).max(2).optional(),
    maxTokens: upTo(1_000_000).optional(),
    provider: provider.optional(),
  })
  .refine(({ baseUrl, model }) => baseUrl === undefined || model !== undefined, {
    path: ['model'],
    error: 'the name of the model at baseUrl',
  })
  .refine(({ baseUrl, apiKeyEnv }) => baseUrl !== undefined || apiKeyEnv === null, {
    path: ['baseUrl'],
    error: 'the address that the key of apiKeyEnv belongs to',
  });

const providerLimits = z
  .strictObject({
    requestsPerMinute: upTo(10_000_000).optional(),
    tokensPerMinute: upTo(10_000_000_000).optional(),
  })
  .refine((limits) => Object.keys(limits).length > 0, {
    error: 'requestsPerMinute, tokensPerMinute or both',
  });

const templateOptions = z
  .record(
    z.string().regex(/^[A-Za-z_]\w*$/, 'the name of a variable'),
    z.union([z.boolean(), z.number(), z.string()]),
  )
  .refine((options) => Object.keys(options).length > 0, { error: 'at least one variable' });

const model = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('trainer'),
    checkpoint: z.union([
      z.literal('base'),
      z.strictObject({ run: z.string().min(1), step: z.union([count, z.literal('latest')]) }),
    ]),
  }),
  z.strictObject({
    kind: z.literal('chat'),
    baseUrl: endpointUrl,
    model: z.string().min(1),
    apiKeyEnv: environmentVariable,
    stream: z.union([z.boolean(), z.literal('auto')]).optional(),
    idleMs: milliseconds.optional(),
    provider: provider.optional(),
  }),
  z.strictObject({
    kind: z.literal('token'),
    baseUrl: endpointUrl,
    model: z.string().min(1),
    apiKeyEnv: environmentVariable,
    format: z.string().min(1).default('qwen3_xml'),
    /** Folder with `tokenizer.json` and `tokenizer_config.json`; relative to the current folder. */
    tokenizer: z.string().min(1),
    /** Variables of the chat template, such as `enable_thinking`. */
    templateOptions: templateOptions.optional(),
    parity: z.enum(['required', 'skipped']).optional(),
    stream: z.union([z.boolean(), z.literal('auto')]).optional(),
    idleMs: milliseconds.optional(),
    provider: provider.optional(),
  }),
  z.strictObject({
    kind: z.literal('served'),
    checkpoint: z.strictObject({ run: z.string().min(1), step: z.union([count, z.literal('latest')]) }),
    serving: servingSchema.optional(),
    /** Absent: the run's own. */
    format: z.string().min(1).optional(),
    templateOptions: templateOptions.optional(),
  }),
  z.strictObject({
    kind: z.literal('scripted'),
    errorRate: share.default(0),
    turnDelayMs: z.number().min(0).default(0),
  }),
]);

export const runFileSchema = z.strictObject({
  suite: z.string().min(1).optional(),
  seed: z.int().min(0).optional(),
  model: model.optional(),
  user: person.optional(),
  judge: person.optional(),
  providers: z.record(provider, providerLimits).optional(),
  sampling: z
    .strictObject({
      temperature: z.number().min(0).optional(),
      topK: countOrNone.optional(),
      topP: z.number().positive().max(1).optional(),
    })
    .optional(),
  limits: limits.optional(),
  maxTries: upTo(100).optional(),
  lanes: upTo(1_000).optional(),
  priority: z.enum(PRIORITIES).optional(),
  pool: z.string().refine(isPoolName, `expected ${POOL_FORM}`).optional(),
  /** Tried before a probe: tasks that it does not solve cost no probes. */
  screen: z
    .strictObject({
      model,
      repeat: repeat.optional(),
      atLeast: countOrNone.optional(),
      minCleanRuns: countOrNone.optional(),
      all: z.boolean().optional(),
    })
    .optional(),
  probe: z.strictObject({ repeat: repeat.optional(), limit: count.optional() }).optional(),
  selection: z
    .strictObject({
      minCleanRuns: count.optional(),
      retainBands: z
        .array(z.enum(['too_hard', 'hard', 'medium', 'easy', 'too_easy']))
        .nonempty()
        .optional(),
    })
    .optional(),
  benchmark: z
    .strictObject({
      repeat: repeat.optional(),
      limit: count.optional(),
      exhaustedAsFailed: z.boolean().optional(),
    })
    .optional(),
  trainer: trainerSchema.optional(),
  train: z
    .strictObject({
      steps: upTo(100_000).optional(),
      saveEvery: count.optional(),
      keepLast: countOrNone.optional(),
      keepEvery: countOrNone.optional(),
      validateEvery: countOrNone.optional(),
      validationRepeat: repeat.optional(),
      shape: shape.optional(),
      plan: plan.optional(),
      /** File with the ids of the pool, relative to the run file; `--tasks` wins over it. */
      tasks: z.string().min(1).optional(),
    })
    .optional(),
  prices: z
    .record(
      z.string(),
      z.strictObject({ promptPerMillion: z.number().min(0), sampledPerMillion: z.number().min(0) }),
    )
    .optional(),
});

export type RunFile = z.infer<typeof runFileSchema>;

/**
 * Validates a parsed run file. Throws one `UsageError` that lists every problem: the path, what was expected, what
 * was found; an unknown key with the nearest known one.
 */
export function parseRunFile(value: unknown, place: string): RunFile {
  const parsed = runFileSchema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const problems = problemsOf(runFileSchema, parsed.error.issues, value);
  if (problems.length === 1) throw new UsageError(place, 'known keys and types', problems[0]!);
  const list = problems.map((problem) => `\n  ${problem}`).join('');
  throw new UsageError(place, 'known keys and types', `${problems.length} problems:${list}`);
}
