/** From what a model gave back to the message and calls of a turn: the same reading while it plays and at a replay. */
import type OpenAI from 'openai';
import { losesForm } from '../../core/exact-json.js';
import { type OutputFormat, type Problem, problemText, spoiltCall } from '../../core/interpret/format.js';
import { readJson } from '../../core/interpret/json-text.js';
import type { AssistantMessage, JsonObject, ToolCall, ToolSpec } from '../../core/message.js';
import { excerpt } from './unreadable.js';

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
    read.problems.flatMap((problem) => {
      const call = spoiltCall(problem);
      return call === undefined ? [] : [[`c${first + call}`, problemText(problem)] as const];
    }),
  );
  return {
    message: { role: 'assistant', reasoning: read.reasoning, content: read.content, toolCalls },
    problems: read.problems.map((problem: Problem) => problemText(problem)),
    refused,
  };
}

/** As the token policy refuses it: not every tool server can be handed the text itself, and rounded it is another number. */
const TOO_LARGE = 'the arguments hold an integer that cannot be passed exactly (beyond 9007199254740991)';

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
    const { name, arguments: text } = call.function;
    const args = parseArguments(text);
    if (!args) refused.set(id, `the arguments are no JSON object: ${excerpt(text)}`);
    else if (readJson(text)?.unsafe) refused.set(id, `${TOO_LARGE}: ${excerpt(text)}`);
    const exact = args && losesForm(text) ? { argumentsText: text } : {};
    return { id, name, arguments: args ?? {}, ...exact };
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
