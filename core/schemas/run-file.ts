/**
 * The run file: what a person writes (YAML or JSON) to say how to probe, select, train and evaluate. Every key is
 * optional; defaults are those of the reference run. Validated once, at the edge; unknown keys are errors.
 */
import { z } from 'zod';
import type { EpisodeLimits, StepShape } from '../campaign.js';
import { UsageError } from '../faults.js';
import { nearest } from '../nearest.js';
import type { UpdatePlan } from '../trainer.js';

const count = z.int().min(1);
const countOrNone = z.int().min(0);
const share = z.number().min(0).max(1);
const positive = z.number().positive();

const limits = z.strictObject({
  tokensPerCall: count.optional(),
  tokensPerEpisode: count.optional(),
  promptTokens: count.optional(),
  userTurns: countOrNone.optional(),
  agentActions: count.optional(),
  episodeMs: count.optional(),
  messageMs: count.optional(),
  toolMs: count.optional(),
} satisfies Record<keyof EpisodeLimits, z.ZodType>);

const shape = z.strictObject({
  groups: count.optional(),
  groupSize: z.int().min(2).optional(),
  maxRefillRounds: countOrNone.optional(),
  maxGroups: count.optional(),
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
} satisfies Record<keyof UpdatePlan, z.ZodType>);

const model = z.union([
  z.strictObject({
    kind: z.literal('trainer'),
    checkpoint: z.union([
      z.literal('base'),
      z.strictObject({ run: z.string().min(1), step: z.union([count, z.literal('latest')]) }),
    ]),
  }),
  z.strictObject({
    kind: z.literal('chat'),
    baseUrl: z.url(),
    model: z.string().min(1),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of an environment variable')
      .nullable()
      .default(null),
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
  sampling: z
    .strictObject({
      temperature: z.number().min(0).optional(),
      topK: countOrNone.optional(),
      topP: z.number().positive().max(1).optional(),
    })
    .optional(),
  limits: limits.optional(),
  maxTries: count.optional(),
  lanes: count.optional(),
  probe: z.strictObject({ repeat: count.optional(), limit: count.optional() }).optional(),
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
      repeat: count.optional(),
      limit: count.optional(),
      exhaustedAsFailed: z.boolean().optional(),
    })
    .optional(),
  train: z
    .strictObject({
      steps: count.optional(),
      saveEvery: count.optional(),
      validateEvery: countOrNone.optional(),
      validationRepeat: count.optional(),
      shape: shape.optional(),
      plan: plan.optional(),
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
  const problems = parsed.error.issues.map((issue) => problemOf(issue, value));
  throw new UsageError(place, 'a run file with known keys and types', problems.join('; '));
}

function problemOf(issue: z.core.$ZodIssue, value: unknown): string {
  const path = issue.path.join('.') || 'the file';
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(issue.path);
    return issue.keys
      .map((key) => {
        const suggestion = nearest(key, known);
        const full = [...issue.path, key].join('.');
        return `unknown key ${full}${suggestion ? ` (did you mean ${suggestion}?)` : ''}`;
      })
      .join('; ');
  }
  return `${path}: ${issue.message}, found ${JSON.stringify(valueAt(value, issue.path))}`;
}

/** Known keys of the object at a path of the schema; empty where the schema branches. */
function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let schema: z.ZodType = runFileSchema;
  for (const key of path) {
    const object = unwrapped(schema);
    if (!(object instanceof z.ZodObject)) return [];
    schema = object.shape[String(key)] as z.ZodType;
  }
  const object = unwrapped(schema);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}
