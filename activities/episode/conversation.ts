/**
 * The agent loop: policy turn → tool calls → observations → simulated user, until something ends it.
 *
 * It reads no clock but the per-message one, knows nothing of Temporal, and leaves everything in the record.
 * Faults are thrown; what the agent does is never a fault.
 */
import type { EpisodeLimits } from '../../core/campaign.js';
import { withDeadline } from '../../core/deadline.js';
import { asFault, Fault } from '../../core/faults.js';
import type { Message } from '../../core/message.js';
import type { Termination } from '../../core/outcome.js';
import type { PolicySession, PolicyTurn } from '../../core/policy.js';
import type { ToolSession } from '../../core/sandbox.js';
import type { Task } from '../../core/suite.js';
import { answerCall, type Toolbox } from './calls.js';
import { type EpisodeRecord, notice, refusal } from './record.js';
import type { SimulatedUser } from './user.js';

const CUT_OFF = 'not executed: the message was cut off by the token limit of one message';

export interface ConversationParts {
  readonly task: Task;
  readonly policy: PolicySession;
  readonly toolbox: Toolbox;
  readonly tools: ToolSession;
  readonly user: SimulatedUser;
  readonly limits: EpisodeLimits;
  readonly record: EpisodeRecord;
  readonly signal: AbortSignal;
  readonly onTurn?: ((turn: number) => void) | undefined;
  /** Tokens of the turn in progress, as they stream (`TurnLimits`). */
  readonly onTokens?: ((tokens: number) => void) | undefined;
}

/** Runs the conversation to its end and says why it ended. Throws `Fault`, or the signal's reason. */
export async function converse(parts: ConversationParts): Promise<Termination> {
  const { task, limits, record } = parts;
  const maxActions = Math.min(limits.agentActions, task.maxAgentActions);
  const maxAnswers = Math.min(limits.userTurns, task.user.maxTurns);
  for (const content of task.systemMessages) record.messages.push({ role: 'system', content });
  let observations: readonly Message[] = [
    ...(task.history ?? []),
    { role: 'user', content: task.user.opening },
  ];
  record.messages.push(...observations);
  let answers = 0;
  for (let actions = 1; ; actions += 1) {
    parts.onTurn?.(record.turns.length + 1);
    const turn = await policyTurn(parts, observations);
    if (turn === 'context_full') return 'token_budget';
    const reaction = await react(parts, turn);
    if (reaction.kind === 'ended') return 'end_turn_tool';
    if (reaction.kind === 'spoke' && endsWith(turn.message.content, task.doneMarker)) return 'done';
    if (record.sampledTokens >= limits.tokensPerEpisode) return 'token_budget';
    if (actions >= maxActions) return 'agent_limit';
    if (reaction.kind === 'observed') {
      observations = reaction.observations;
      const { said = null } = reaction;
      if (said === null) continue;
      // The user has heard it, so the agent must know; it counts as the agent's.
      const direct: Message = {
        role: 'assistant',
        reasoning: '',
        content: said,
        toolCalls: [],
        direct: true,
      };
      record.messages.push(direct);
      observations = [...observations, direct];
      actions += 1;
      if (actions >= maxActions) return 'agent_limit';
      continue;
    }
    if (task.user.context === '') return 'no_user';
    if (answers >= maxAnswers) return 'user_limit';
    answers += 1;
    const answer = await userTurn(parts);
    observations = [{ role: 'user', content: answer.content }];
    record.messages.push(...observations);
    if (answer.ended) return 'user_done';
  }
}

/** A marker that is only spoken of, in the middle of a message, ends nothing. */
function endsWith(text: string, marker: string): boolean {
  return text.trimEnd().endsWith(marker);
}

/** What follows a turn: the agent waits for the user, or has something to read, or has ended the conversation. */
type Reaction =
  | { readonly kind: 'spoke' | 'ended' }
  | {
      readonly kind: 'observed';
      readonly observations: readonly Message[];
      /** What a tool says to the user; of several calls the last one's counts, as in the official ThinkingBox loop. */
      readonly said?: string | null;
    };

/** Executes the turn's calls in the order written. */
async function react(parts: ConversationParts, turn: PolicyTurn): Promise<Reaction> {
  const { task, record, toolbox, tools, limits, signal } = parts;
  const calls = turn.message.toolCalls;
  if (turn.finishReason === 'length') {
    const told = calls.length > 0 ? calls.map((call) => refusal(call, CUT_OFF)) : [notice(CUT_OFF)];
    for (const message of told) record.observe(message);
    return { kind: 'observed', observations: told };
  }
  if (calls.length === 0) {
    if (turn.message.content !== '' || turn.problems.length === 0) return { kind: 'spoke' };
    const told = notice(turn.problems.join('; '));
    record.observe(told);
    return { kind: 'observed', observations: [told] };
  }
  if (task.endingTurnsCallNothing && calls.some(({ name }) => toolbox.spec(name)?.endsTurn))
    return { kind: 'ended' };
  const options = { toolbox, session: tools, timeoutMs: limits.toolMs, signal, refused: turn.refused };
  const observations: Message[] = [];
  let ended = false;
  let said: string | null = null;
  for (const call of calls) {
    const started = performance.now();
    const { message, said: told } = await answerCall(task, call, options);
    said = told;
    record.observe(message, performance.now() - started);
    observations.push(message);
    ended ||= !message.isError && toolbox.spec(call.name)?.endsTurn === true;
  }
  return ended ? { kind: 'ended' } : { kind: 'observed', observations, said };
}

async function policyTurn(
  parts: ConversationParts,
  observations: readonly Message[],
): Promise<PolicyTurn | 'context_full'> {
  const { policy, limits, record, signal, onTokens: onProgress } = parts;
  const maxTokens = Math.min(limits.tokensPerCall, limits.tokensPerEpisode - record.sampledTokens);
  const clock = { ms: limits.messageMs, what: `a message of ${policy.place ?? 'the policy'}` };
  const started = performance.now();
  let turn: PolicyTurn;
  try {
    turn = await guarded(signal, 'policy', () =>
      withDeadline(signal, clock, (inner) =>
        policy.turn(observations, { maxTokens, signal: inner, onProgress }),
      ),
    );
  } catch (error) {
    if (error instanceof Fault && error.code === 'context_full') return 'context_full';
    throw error;
  }
  const before = record.weightVersion;
  record.turn(turn, performance.now() - started);
  if (before !== null && turn.weightVersion !== before) {
    const message = `sampled from weights ${turn.weightVersion}, earlier turns from ${before}`;
    throw new Fault('policy', message, { code: 'wrong_weights' });
  }
  return turn;
}

async function userTurn(parts: ConversationParts): Promise<{ content: string; ended: boolean }> {
  const { user, task, limits, signal } = parts;
  const clock = { ms: limits.messageMs, what: `a message of ${user.place ?? 'the simulated user'}` };
  const content = await guarded(signal, 'user', () =>
    withDeadline(signal, clock, (inner) => nextWords(parts, inner)),
  );
  if (!endsWith(content, task.doneMarker)) return { content, ended: false };
  if (task.user.mayEnd) return { content, ended: true };
  // A user who may not end the conversation says nothing by the marker, and shows it to no agent.
  const rest = content.trimEnd().slice(0, -task.doneMarker.length).trim();
  if (rest !== '') return { content: rest, ended: false };
  throw new Fault('user', 'the simulated user answered nothing but the end marker, which it may not use', {
    code: 'unreadable',
  });
}

/** In the suite's own words where it has some, else in ours. */
function nextWords({ user, task, record }: ConversationParts, signal: AbortSignal): Promise<string> {
  const { messages, others } = record;
  const { say } = user;
  if (task.userMessage && say)
    return task.userMessage(messages, (prompt) => say(prompt, others, signal), signal);
  return user.answer({ ...task.user, doneMarker: task.doneMarker }, messages, others, signal);
}

/** Classifies what `work` throws by its boundary; the caller's own abort passes through. */
async function guarded<T>(signal: AbortSignal, kind: 'policy' | 'user', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    throw asFault(error, kind);
  }
}
