/** What one episode leaves behind, built up while it runs, so that a fault loses nothing that was said. */
import type { Message, ToolCall, ToolMessage, ToolSpec } from '../../core/message.js';
import type { Termination, Usage } from '../../core/outcome.js';
import type { EpisodeTokens, PolicyTurn } from '../../core/policy.js';
import type { Effects } from '../../core/suite.js';
import type { Meter } from '../policy/chat-model.js';

/** One policy turn as the trajectory keeps it. */
export interface TurnRecord {
  readonly raw: string;
  readonly finishReason: 'stop' | 'length';
  readonly problems: readonly string[];
  readonly promptTokens: number;
  readonly sampledTokens: number;
  readonly policyMs: number;
  /** Time of this turn's tool calls. */
  readonly toolMs: number;
}

export class EpisodeRecord {
  readonly messages: Message[] = [];
  readonly turns: TurnRecord[] = [];
  /** What the policy was offered. */
  tools: readonly ToolSpec[] = [];
  readonly others: Meter = { promptTokens: 0, sampledTokens: 0, calls: 0 };
  termination: Termination | null = null;
  effects: Effects | null = null;
  expected: Effects | null = null;
  tokens: EpisodeTokens | undefined;
  weightVersion: string | null = null;
  toolCalls = 0;
  toolErrors = 0;
  truncatedTurns = 0;
  sampledTokens = 0;
  /** How long requests waited for the limits of their providers. */
  waitedMs = 0;
  private promptTokens = 0;

  turn(turn: PolicyTurn, policyMs: number): void {
    this.messages.push(turn.message);
    this.promptTokens += turn.promptTokens;
    this.sampledTokens += turn.sampledTokens;
    if (turn.finishReason === 'length') this.truncatedTurns += 1;
    this.weightVersion = turn.weightVersion ?? null;
    const { raw, finishReason, problems, promptTokens, sampledTokens } = turn;
    this.turns.push({ raw, finishReason, problems, promptTokens, sampledTokens, policyMs, toolMs: 0 });
  }

  /** Adds an observation of the last turn. A notice is no call. */
  observe(message: ToolMessage, toolMs = 0): void {
    this.messages.push(message);
    if (message.callId !== '') this.toolCalls += 1;
    if (message.callId !== '' && message.isError) this.toolErrors += 1;
    const last = this.turns.at(-1);
    if (last && toolMs > 0) this.turns[this.turns.length - 1] = { ...last, toolMs: last.toolMs + toolMs };
  }

  get usage(): Usage {
    return {
      policyPromptTokens: this.promptTokens,
      policySampledTokens: this.sampledTokens,
      policyCalls: this.turns.length,
      otherPromptTokens: this.others.promptTokens,
      otherSampledTokens: this.others.sampledTokens,
      otherCalls: this.others.calls,
    };
  }
}

/** An error observation in place of a call's result. */
export function refusal(call: Pick<ToolCall, 'id' | 'name'>, reason: string): ToolMessage {
  return { role: 'tool', callId: call.id, name: call.name, content: `error: ${reason}`, isError: true };
}

/** An error that belongs to no call: the turn as a whole could not be read or was cut off. */
export function notice(reason: string): ToolMessage {
  return refusal({ id: '', name: '' }, reason);
}
