/**
 * One episode without Temporal: sandbox, conversation, effects, verdict, release.
 *
 *   create → init → visible tools → converse → effects → grade (inside the live session) → release
 *
 * Everything that is not the agent's doing comes back as `fault`; only cancellation is thrown.
 */
import type { EpisodeLimits } from '../../core/campaign.js';
import { heldMs, withDeadline } from '../../core/deadline.js';
import { asFault, Fault, type FaultKind } from '../../core/faults.js';
import type { Termination, Verdict } from '../../core/outcome.js';
import type { Policy, Sampling } from '../../core/policy.js';
import type { Sandbox, SandboxDriver, SandboxRequest } from '../../core/sandbox.js';
import type { Judge, Task } from '../../core/suite.js';
import { CAPACITY_WAIT_MS } from '../../temporal.config.js';
import type { Meter } from '../policy/chat-model.js';
import { Toolbox } from './calls.js';
import { converse } from './conversation.js';
import { EpisodeRecord } from './record.js';
import type { SimulatedUser } from './user.js';

/** A release that takes longer is left to the reaper. */
const RELEASE_MS = 15_000;

export interface EpisodeParts {
  readonly task: Task;
  readonly driver: SandboxDriver;
  /** Written down by the caller before; unique. */
  readonly sandboxName: string;
  /** Written on what the sandbox is made of, where a driver can. */
  readonly sandboxMarks?: Pick<SandboxRequest, 'expiresAt' | 'labels' | 'warm'>;
  readonly policy: Policy;
  readonly user: SimulatedUser;
  readonly judge: (meter: Meter) => Judge;
  readonly sampling: Sampling;
  readonly limits: EpisodeLimits;
  readonly seed: string;
  readonly signal: AbortSignal;
  /** Before each policy turn, from 1. */
  readonly onTurn?: (turn: number) => void;
  /** Tokens of that turn so far, where the policy streams. */
  readonly onTokens?: (tokens: number) => void;
  readonly onSandboxCreated?: () => void;
  /** Something of the sandbox may still be there: its release, or the end of a start that failed, did not get through. */
  readonly onSandboxLeft?: () => void;
}

export interface PlayedEpisode {
  readonly record: EpisodeRecord;
  readonly clean?: { readonly verdict: Verdict; readonly termination: Termination };
  readonly fault?: Fault;
  /** What went wrong when the sandbox was released; something of it may be left. The episode stands. */
  readonly releaseError?: string;
  readonly wallMs: number;
}

/** Plays one episode. Throws `Fault('cancelled')` when the caller's signal aborts, and nothing else. */
export async function playEpisode(parts: EpisodeParts): Promise<PlayedEpisode> {
  const record = new EpisodeRecord();
  const started = performance.now();
  const what = `the episode of ${parts.task.ref.id}`;
  const clock = { ms: parts.limits.episodeMs, what, heldMs: CAPACITY_WAIT_MS };
  let creating: Promise<Sandbox> | undefined;
  let ended: Pick<PlayedEpisode, 'clean' | 'fault'>;
  try {
    const clean = await withDeadline(parts.signal, clock, async (signal) => {
      const { sandboxName: name, sandboxMarks } = parts;
      creating = parts.driver.create({ name, servers: parts.task.servers, signal, ...sandboxMarks });
      const sandbox = await within('sandbox', signal, () => creating as Promise<Sandbox>);
      parts.onSandboxCreated?.();
      try {
        return await live(parts, sandbox, record, signal);
      } finally {
        record.waitedMs = Math.round(heldMs(signal));
        await end(parts.task, sandbox);
      }
    });
    ended = { clean };
  } catch (error) {
    ended = { fault: named(asFault(error, 'sandbox'), parts.task.ref.id) };
  }
  const releaseError = creating && (await release(creating, parts));
  if (releaseError !== undefined) parts.onSandboxLeft?.();
  if (parts.signal.aborted) {
    throw new Fault('cancelled', 'the episode was cancelled', { cause: parts.signal.reason });
  }
  const wallMs = Math.round(performance.now() - started);
  return { record, ...ended, wallMs, ...(releaseError === undefined ? {} : { releaseError }) };
}

/** Whatever goes wrong here says nothing of the episode, and its end is not waited for longer than for a release. */
async function end(task: Task, { tools }: Sandbox): Promise<void> {
  await task.end?.(tools, AbortSignal.timeout(RELEASE_MS)).catch(() => undefined);
}

/** What happens while the sandbox lives. */
async function live(
  parts: EpisodeParts,
  { tools }: Sandbox,
  record: EpisodeRecord,
  signal: AbortSignal,
): Promise<{ verdict: Verdict; termination: Termination }> {
  const { task, limits, sampling, seed } = parts;
  await within('suite', signal, () => task.init(tools, signal));
  const visible = await within('sandbox', signal, () => task.visibleTools(tools, signal));
  record.tools = visible;
  const begin = { systemMessages: task.systemMessages, tools: visible, seed, sampling, taskId: task.ref.id };
  const policy = await within('policy', signal, () =>
    parts.policy.begin({ ...begin, maxPromptTokens: limits.promptTokens }),
  );
  const toolbox = new Toolbox(visible, tools);
  const { user, onTurn, onTokens } = parts;
  try {
    record.termination = await converse({
      task,
      policy,
      toolbox,
      tools,
      user,
      limits,
      record,
      signal,
      onTurn,
      onTokens,
    });
  } finally {
    record.tokens = policy.tokens();
  }
  if (record.sampledTokens === 0 && parts.policy.kind !== 'scripted') {
    throw new Fault('policy', 'the policy sampled no token in the whole episode', { code: 'no_tokens' });
  }
  const { termination } = record;
  const effects = await within('sandbox', signal, () => task.effects(tools, signal));
  record.effects = effects;
  const expected = await within('grader', signal, async () => task.expectedEffects?.());
  record.expected = expected ?? null;
  const judge = parts.judge(record.others);
  const graded = { effects, messages: record.messages, termination, judge, tools, signal };
  const verdict = await within('grader', signal, () => task.grade(graded));
  return { verdict: atLimit(checked(verdict, task.ref.id), termination, task), termination };
}

/** Runs one stage; what it throws is a fault of that stage unless it already is one. */
async function within<T>(kind: FaultKind, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    throw asFault(error, kind);
  }
}

/** The policy does not know the task: an error that only the task's author can mend must name it. */
function named(fault: Fault, taskId: string): Fault {
  if (fault.code !== 'prompt_too_long') return fault;
  const { cause, retry, code } = fault;
  return new Fault(fault.kind, `task ${taskId}: ${fault.message}`, { cause, retry, code });
}

/** No verdict, or one without a reward, is a fault of the check, never a zero. */
function checked(verdict: Verdict | undefined, taskId: string): Verdict {
  const reward: unknown = verdict?.reward;
  if (typeof verdict?.passed === 'boolean' && typeof reward === 'number' && reward >= 0 && reward <= 1)
    return verdict;
  const found = JSON.stringify(verdict ?? null);
  const message = `the check of ${taskId} gave no verdict: expected passed and a reward within [0, 1], found ${found}`;
  throw new Fault('grader', message, { code: 'no_verdict' });
}

const OWN_LIMITS: ReadonlySet<Termination> = new Set(['user_limit', 'agent_limit', 'token_budget']);

/** An agent that ran into its own limits has failed, unless the suite lets the check alone decide. */
function atLimit(verdict: Verdict, termination: Termination, task: Task): Verdict {
  if (!verdict.passed || task.passesAtLimits || !OWN_LIMITS.has(termination)) return verdict;
  return { ...verdict, passed: false, reward: 0, reasons: [`the episode ended at a limit: ${termination}`] };
}

/** Releases what was created, however far it came. Returns what went wrong. */
async function release(
  creating: Promise<Sandbox>,
  { driver, sandboxName: name }: Pick<EpisodeParts, 'driver' | 'sandboxName'>,
): Promise<string | undefined> {
  const sandbox = await creating.catch(() => undefined);
  const clock = { ms: RELEASE_MS, what: `release of sandbox ${name}` };
  try {
    // A driver that failed to create has cleaned up after itself, or could not: then this fails too, and is told.
    const end = (): Promise<unknown> => (sandbox ? sandbox.release() : driver.reap(name));
    await withDeadline(new AbortController().signal, clock, end);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
