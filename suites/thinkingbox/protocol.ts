/** What the bridge (native/thinkingbox) answers, checked at the border. */
import { z } from 'zod';
import type { Json, JsonObject } from '../../core/message.js';

const json: z.ZodType<Json> = z.json();
const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** One case as listed. `domain` is null unless the case or its scenario is tagged with one. */
export const listedCases = z.array(
  z.object({
    id: z.string(),
    scenario: z.string(),
    domain: z.string().nullable(),
    digest,
    templateDigest: digest,
    /** Whether a server of the case is given documents to search in. */
    searches: z.boolean(),
  }),
);
export type ListedCase = z.infer<typeof listedCases>[number];

/** A tool that the framework itself answers, e.g. the one that reports an injection. */
const builtinTool = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: jsonObject,
  is_end_turn: z.boolean(),
});

/** A tool that the scenario shows to the agent, with what it changes in it. */
const shownTool = z.object({
  name: z.string(),
  override_description: z.string().nullable(),
  override_arg_description: z.record(z.string(), z.string()).nullable(),
  is_end_turn: z.boolean(),
});
export type ShownTool = z.infer<typeof shownTool>;

const caseServer = z.object({
  name: z.string(),
  command: z.array(z.string()).min(1),
  /** The same program as one that forks its sessions; null for programs that are not Python. */
  warm: z.array(z.string()).min(1).nullable(),
  env: z.record(z.string(), z.string()),
  cwd: z.string().nullable(),
  /**
   * Start state as JSON text: through a JavaScript value, 300.0 would become 300. Without golden calls wherever the
   * bridge can work the final state out by itself.
   */
  config: z.string(),
  /** What a perfect episode would report; null when only the server itself knows. */
  expected: jsonObject.nullable(),
});
export type CaseServer = z.infer<typeof caseServer>;

const scriptedCall = z.object({
  name: z.string(),
  arguments: jsonObject,
  /** The same as JSON text, with its numbers as written. */
  argumentsText: z.string(),
});
export type ScriptedCall = z.infer<typeof scriptedCall>;

const historyMessage = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'user']), content: z.string() }),
  z.object({
    role: z.literal('assistant'),
    reasoning: z.string(),
    content: z.string(),
    toolCalls: z.array(scriptedCall.extend({ id: z.string() })),
    direct: z.literal(true).optional(),
  }),
  z.object({
    role: z.literal('tool'),
    callId: z.string(),
    name: z.string(),
    content: z.string(),
    isError: z.boolean(),
  }),
]);

/** The words that an episode begins with. */
export const openingWords = z.object({
  systemMessages: z.array(z.string()),
  opening: z.string(),
  context: z.string(),
});
export type OpeningWords = z.infer<typeof openingWords>;

export const loadedCase = openingWords.extend({
  /** Whether the opening words depend on what the servers say to their start state. */
  formatted: z.boolean(),
  history: z.array(historyMessage),
  /** Calls of the history, to be played when the start state is set. */
  historyCalls: z.array(scriptedCall),
  maxUserTurns: z.number(),
  maxAgentActions: z.number(),
  doneMarker: z.string().min(1),
  builtinTools: z.array(builtinTool),
  tools: z.array(shownTool),
  servers: z.array(caseServer).min(1),
  /** Tools that speak to the user in the agent's place. */
  directTools: z.array(z.string()),
});
export type LoadedCase = z.infer<typeof loadedCase>;

export const gradedCase = z.object({
  passed: z.boolean(),
  reward: z.number().min(0).max(1),
  systemError: z.boolean(),
  reason: z.string(),
  trace: z.string(),
  judged: z.array(z.object({ question: z.string(), answer: z.boolean() })),
  printed: z.string(),
});

/** What the agent reads of a tool's answer, and what the user is told. */
export const toolSaid = z.object({ content: z.string(), said: z.string().nullable() });

/** Digest of what the simulated user is told beside a case's own text. */
export const userWords = digest;

export const userMessage = z.string();

export const foundCases = z.array(z.string());

export const goldenCalls = z.array(scriptedCall);

/** By server: what is kept of the reported state. */
export const keptEffects = jsonObject;

/** A line of the bridge: the reply to a request, or a question of its own. */
export const bridgeLine = z.union([
  z.object({ id: z.number(), ok: z.unknown() }),
  z.object({
    id: z.number(),
    error: z.object({
      code: z.enum(['bad_input', 'unknown_case', 'refused', 'failed']),
      message: z.string(),
      trace: z.string().optional(),
      details: z
        .object({
          place: z.string().optional(),
          expected: z.string().optional(),
          found: z.string().optional(),
          known: z.array(z.string()).optional(),
        })
        .optional(),
    }),
  }),
  z.object({
    ask: z.number(),
    for: z.number(),
    kind: z.enum(['yesno', 'complete']),
    system: z.string(),
    user: z.string(),
  }),
  z.object({
    ask: z.number(),
    for: z.number(),
    kind: z.literal('tool'),
    server: z.string(),
    tool: z.string(),
    arguments: z.string(),
  }),
]);
export type BridgeFailure = Extract<z.infer<typeof bridgeLine>, { error: unknown }>['error'];
export type BridgeQuestion = Extract<z.infer<typeof bridgeLine>, { ask: number }>;
