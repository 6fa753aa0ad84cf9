/** A recorded turn's raw output, read as today's program reads it. */
import type OpenAI from 'openai';
import type { OutputFormat } from '../../core/interpret/format.js';
import type { ToolSpec } from '../../core/message.js';
import { type ReadTurn, readText, readWireCalls } from '../policy/read-turn.js';

export type ReadAgain = ReadTurn;

/**
 * `format`: of a token policy's text; undefined where the raw output may be a chat completion's JSON. Returns undefined
 * for scripted policies, whose calls were never written as text. `first`: number of the turn's first call.
 */
export function readAgain(
  raw: string,
  format: OutputFormat | undefined,
  tools: readonly ToolSpec[],
  first: number,
): ReadAgain | undefined {
  if (format) return readText(format, raw, tools, first);
  const reply = chatReply(raw);
  if (!reply) return undefined;
  const { toolCalls, refused } = readWireCalls(reply.tool_calls ?? [], first);
  return {
    message: { role: 'assistant', reasoning: '', content: reply.content, toolCalls },
    problems: [...refused.values()],
    refused,
  };
}

interface ChatReply {
  readonly content: string;
  readonly tool_calls?: readonly OpenAI.ChatCompletionMessageToolCall[] | null;
}

/** As `chat-policy.ts` records it; scripted policies write `toolCalls`. */
function chatReply(raw: string): ChatReply | undefined {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch {
    return undefined; // no JSON: not a chat completion
  }
  if (typeof value !== 'object' || value === null || 'toolCalls' in value) return undefined;
  return 'content' in value && typeof value.content === 'string' ? (value as ChatReply) : undefined;
}
