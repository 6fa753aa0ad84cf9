/**
 * A suite: a named, digested set of tasks and the tool servers they need.
 *
 * The life of one episode, as `activities/episode` drives it:
 *   load(id) → sandbox starts `task.servers` → task.init(tools) → conversation → task.effects(tools)
 *   → task.grade(...) inside the live session → sandbox released
 */
import type { EpisodeLimits } from './campaign.js';
import type { Json, Message, ToolSpec } from './message.js';
import type { Verdict } from './outcome.js';
import type { Isolation, ServerSpec, ToolSession } from './sandbox.js';

/** What is known of a task without hydrating it. */
export interface TaskRef {
  /** `file:name`, unique within the suite. */
  readonly id: string;
  readonly domain: string;
  /** Name of the template the task was made from; tasks of one template differ in ids, amounts and wording. */
  readonly template: string;
  /** SHA-256 of everything that decides the task (start state, request, context, check). */
  readonly digest: string;
  /** SHA-256 of what the template has in common, whatever its parameters; used to keep benchmarks out of pools. */
  readonly templateDigest: string;
  /** `train` candidates may be probed and trained on; `benchmark` tasks never. */
  readonly split: 'train' | 'benchmark';
}

/** The simulated user's side of a task. Only what is written here may reach the user model. */
export interface UserBrief {
  /** First message of the conversation, exactly as sent. */
  readonly opening: string;
  /** Private context, told only when asked. Empty: there is no simulated user after the opening. */
  readonly context: string;
  /** How often the user may answer after the opening. */
  readonly maxTurns: number;
  /** Whether the user may end the conversation. */
  readonly mayEnd: boolean;
}

/** What the tool servers report as the final state, one entry per server. */
export type Effects = { readonly [server: string]: Json };

/** Yes-or-no questions put to the judge model. Throws `Fault('judge')`; an unreadable answer is never a "no". */
export interface Judge {
  ask(request: { readonly system: string; readonly user: string }, signal: AbortSignal): Promise<boolean>;
  /** Free text, for checks that parse the judge's answer themselves. */
  complete(request: { readonly system: string; readonly user: string }, signal: AbortSignal): Promise<string>;
}

/** `said`: a message of its own to the user; null: none, e.g. since the answer has not the form for it. */
export interface ToolSaid {
  readonly content: string;
  readonly said: string | null;
}

export type AskUser = (prompt: { readonly system: string; readonly user: string }) => Promise<string>;

export interface GradeInput {
  readonly effects: Effects;
  readonly messages: readonly Message[];
  readonly termination: string;
  readonly judge: Judge;
  readonly tools: ToolSession;
  readonly signal: AbortSignal;
}

/** A hydrated task, ready to run once. Tasks hold no live resources until `init`; one object may serve one episode only. */
export interface Task {
  readonly ref: TaskRef;
  readonly servers: readonly ServerSpec[];
  /** Several leading system messages are joined by a blank line in `core/render`. */
  readonly systemMessages: readonly string[];
  readonly user: UserBrief;
  /** A conversation that has taken place before the opening: part of every prompt, none of it the policy's own. */
  readonly history?: readonly Message[];
  /** Marker in the agent's visible text that ends the conversation, e.g. `<DONE>`. */
  readonly doneMarker: string;
  /** Agent actions (a turn's tool calls, or a visible message) before `agent_limit`. */
  readonly maxAgentActions: number;
  /**
   * True: a conversation that ended at one of the agent's own limits passes when its check does. Otherwise such an
   * episode is `failed` whatever the check says.
   */
  readonly passesAtLimits?: boolean;
  /** True: a turn that calls an ending tool executes none of its calls. Otherwise all of them, in the order written. */
  readonly endingTurnsCallNothing?: boolean;
  /** Sets the start state through `__reserved__init` or its like. Throws `Fault('suite' | 'sandbox')`. */
  init(tools: ToolSession, signal: AbortSignal): Promise<void>;
  /** Tools as offered to the policy, from the live session (reserved ones hidden, overrides applied). */
  visibleTools(tools: ToolSession, signal: AbortSignal): Promise<readonly ToolSpec[]>;
  /**
   * What becomes of a tool's answer, where the tool may speak to the user in the agent's place: what the agent reads,
   * and what the user is told. Undefined for every other tool. Throws `Fault('suite')`.
   */
  toolSays?(tool: string, answer: string, signal: AbortSignal): Promise<ToolSaid | undefined>;
  /**
   * The simulated user's next message, where the suite words its prompt and reads the answer by itself: `ask` puts a
   * prompt to the user's model. Absent: as `core/prompts.ts` words it. Throws what `ask` throws, or `Fault('suite')`.
   */
  userMessage?(transcript: readonly Message[], ask: AskUser, signal: AbortSignal): Promise<string>;
  effects(tools: ToolSession, signal: AbortSignal): Promise<Effects>;
  /** A failed assertion is a verdict; anything else is thrown as `Fault('grader' | 'judge')`. */
  grade(input: GradeInput): Promise<Verdict>;
  /** Frees what the session holds outside of its sandbox, before that is released. What it throws is ignored. */
  end?(tools: ToolSession, signal: AbortSignal): Promise<void>;
  /**
   * The final state that the check wants, for people to read in a report beside the actual one.
   * Undefined where the suite does not know it. Never enters the sandbox or a conversation.
   */
  expectedEffects?(): Effects;
}

export interface Suite {
  readonly name: string;
  /** SHA-256 over all task digests and the servers' code version; pinned in a campaign's fingerprint. */
  readonly digest: string;
  /** The least isolation its servers may run in. */
  readonly isolation: Isolation;
  /** Images that its servers run from in containers, as `ServerSpec` names them; absent: it has no container form. */
  readonly images?: readonly string[];
  /** What its containers must reach, `host:port`; the operator has to approve each. */
  readonly endpoints?: readonly string[];
  /** Why results of this suite, as it was opened, are not comparable with published ones; said wherever they are shown. */
  readonly notComparable?: readonly string[];
  /** Digest of what its own simulated user is told, where its tasks have `userMessage`; part of the prompts of a campaign. */
  readonly userWords?: string;
  /** Limits that its campaigns have unless a run file says otherwise, where they are not everyone's. */
  readonly limits?: Partial<EpisodeLimits>;
  tasks(): Promise<readonly TaskRef[]>;
  /** Throws `UsageError` for an unknown id, naming the nearest known ones. */
  load(taskId: string): Promise<Task>;
  close(): Promise<void>;
}
