/** Reads the JSON document of a trajectory (docs/contracts.md) for people to look at. */
import { z } from 'zod';
import type { ArtifactStore, Digest } from '../../../core/artifacts.js';
import { asFault } from '../../../core/faults.js';
import type { AttemptRow } from '../../../core/ledger.js';
import type { Json, JsonObject, Message } from '../../../core/message.js';
import { TERMINATIONS, type Termination } from '../../../core/outcome.js';
import type { EpisodeView } from '../../../core/report-data.js';
import type { Effects } from '../../../core/suite.js';

const json = z.unknown().transform((value) => value as Json);
const object = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject);
const call = z.object({ id: z.string().default(''), name: z.string(), arguments: object.default({}) });
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    reasoning: z.string().default(''),
    content: z.string().default(''),
    toolCalls: z.array(call).default([]),
    direct: z.literal(true).optional(),
  }),
  z.object({
    role: z.literal('tool'),
    callId: z.string().default(''),
    name: z.string().default(''),
    content: z.string(),
    isError: z.boolean().default(false),
  }),
]);
const count = z.number().default(0);
const document = z.object({
  messages: z.array(message),
  termination: z.string().nullish(),
  verdict: z
    .object({
      passed: z.boolean(),
      reward: z.number(),
      reasons: z.array(z.string()).default([]),
      judged: z.array(z.object({ question: z.string(), answer: z.boolean() })).default([]),
    })
    .nullish(),
  effects: z.record(z.string(), json).nullish(),
  expected: z.record(z.string(), json).nullish(),
  usage: z
    .object({
      policyPromptTokens: count,
      policySampledTokens: count,
      policyCalls: count,
      otherPromptTokens: count,
      otherSampledTokens: count,
      otherCalls: count,
    })
    .prefault({}),
  seed: z.union([z.string(), z.number()]).transform(String).default(''),
  weightVersion: z.string().nullish(),
});

function terminationOf(text: string | null | undefined, row: AttemptRow): Termination | null {
  return text != null && Object.hasOwn(TERMINATIONS, text) ? (text as Termination) : row.termination;
}

/** Null, with a warning that names the attempt, when the artifact is missing, corrupt or of another form. */
export async function readEpisode(
  artifacts: ArtifactStore,
  row: AttemptRow,
  label: string,
  warnings: string[],
): Promise<EpisodeView | null> {
  const digest: Digest | null = row.trajectory;
  if (digest === null) return null;
  try {
    const found = document.parse(JSON.parse(new TextDecoder().decode(await artifacts.get(digest))));
    return {
      key: row.key,
      label,
      passed: row.passed === true,
      termination: terminationOf(found.termination, row),
      verdict: found.verdict ?? null,
      messages: found.messages satisfies readonly Message[],
      expected: (found.expected ?? null) as Effects | null,
      actual: (found.effects ?? null) as Effects | null,
      usage: found.usage,
      seed: found.seed,
      weightVersion: found.weightVersion ?? row.weightVersion,
      trajectory: digest,
    };
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : asFault(error, 'artifacts').message;
    warnings.push(`The trajectory of ${row.key} (${digest}) cannot be shown: ${why}`);
    return null;
  }
}
