/** From what a model gave back to the message and calls of a turn: the same reading while it plays and at a replay. */
import type OpenAI from 'openai';
import { type OutputFormat, type Problem, problemText } from '../../core/interpret/format.js';
import type { AssistantMessage, JsonObject, ToolCall, ToolSpec } from '../../core/message.js';
import { excerpt } from './chat-model.js';

export interface ReadTurn {
  readonly message: AssistantMessage;
  readonly problems: readonly string[];
  /** Calls that must not be executed, by call id, with the reason that the model is told. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Text of a token policy's turn. Calls are named `c<first>`, `c<first + 1>` ... */
export function readText(
  format: OutputFormat,
  raw: string,
  tools: readonly ToolSpec[],
  first: number,
): ReadTurn {
  const read = format.interpret(raw, tools);
  const toolCalls = read.calls.map((call, index) => ({ id: `c${first + index}`, ...call }));
  const refused = new Map(
    read.problems
      .filter((problem) => problem.kind === 'integer_range')
      .map((problem) => [`c${first + problem.call}`, problemText(problem)]),
  );
  return {
    message: { role: 'assistant', reasoning: read.reasoning, content: read.content, toolCalls },
    problems: read.problems.map((problem: Problem) => problemText(problem)),
    refused,
  };
}

/** Calls of a chat completion, named as in `readText`. */
export function readWireCalls(
  wireCalls: readonly OpenAI.ChatCompletionMessageToolCall[],
  first: number,
): { readonly toolCalls: readonly ToolCall[]; readonly refused: ReadonlyMap<string, string> } {
  const refused = new Map<string, string>();
  const toolCalls = wireCalls.map((call, index): ToolCall => {
    const id = `c${first + index}`;
    if (call.type !== 'function') {
      refused.set(id, `calls of type "${call.type}" are not supported`);
      return { id, name: call.type, arguments: {} };
    }
    const args = parseArguments(call.function.arguments);
    if (!args) refused.set(id, `the arguments are no JSON object: ${excerpt(call.function.arguments)}`);
    return { id, name: call.function.name, arguments: args ?? {} };
  });
  return { toolCalls, refused };
}

function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined; // told to the model as the reason why the call was not executed
  }
}
