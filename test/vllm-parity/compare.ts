/** Our reading of an output against vLLM's: equal, different for a documented reason, or different. */
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Json, JsonObject, ToolSpec } from '../../core/message.js';
import type { Output } from '../fuzz/outputs.js';
import { saysMore, type WireTool } from '../fuzz/tools.js';

/** What `native/vllm-parity/answer.py` says. */
export type Answer =
  | { readonly crash: string }
  | {
      readonly reasoning: string;
      readonly content: string;
      readonly tool_calls: readonly { readonly name: string; readonly arguments: string }[];
    };

/** Each stands in docs/interpret.md with the reason why the engine's answer is not ours. */
export type Reason =
  | 'crash'
  | 'integer_range'
  | 'schema_words'
  | 'arguments_not_object'
  | 'not_json'
  | 'nameless_json';

export interface Comparison {
  readonly same: boolean;
  /** Undefined for a difference that nothing explains. */
  readonly reason?: Reason | undefined;
  readonly ours?: unknown;
  readonly theirs?: unknown;
}

export function specs(tools: readonly WireTool[]): ToolSpec[] {
  return tools.map((tool) => ({ name: tool.function.name, inputSchema: tool.function.parameters ?? {} }));
}

export function compare({ format, input, tools }: Output, answer: Answer): Comparison {
  const read = outputFormat(format).interpret(input, specs(tools));
  const ours = { reasoning: read.reasoning, content: read.content, tool_calls: read.calls };
  if ('crash' in answer) return { same: false, reason: 'crash', ours, theirs: answer };
  const kinds = new Set(read.problems.map((problem) => problem.kind));
  const theirs = stripped(answer);
  if (equal(ours, theirs)) return { same: true };
  const different = (reason?: Reason): Comparison => ({ same: false, reason, ours, theirs: answer });
  if (answer.tool_calls.some((call) => parsed(call.arguments) === undefined)) return different('not_json');
  if (ours.reasoning !== theirs.reasoning) return different();
  if (ours.tool_calls.length !== theirs.tool_calls.length) {
    return different(
      format.startsWith('qwen3_xml') && kinds.has('unreadable_call') ? 'nameless_json' : undefined,
    );
  }
  if (ours.content !== theirs.content) return different();
  const reasons = ours.tool_calls.map((call, index): Reason | 'same' | undefined => {
    const other = theirs.tool_calls[index]!;
    if (call.name !== other.name) return undefined;
    if (equal(call.arguments, other.arguments)) return 'same';
    const problem = read.problems.find((candidate) => 'call' in candidate && candidate.call === index);
    if (problem?.kind === 'arguments_not_object') return 'arguments_not_object';
    if (!isObject(other.arguments)) return undefined;
    return argumentsReason(call.name, call.arguments, other.arguments, tools, (parameter) =>
      read.problems.some((p) => p.kind === 'integer_range' && p.call === index && p.parameter === parameter),
    );
  });
  const unexplained = reasons.includes(undefined);
  return different(
    unexplained ? undefined : (reasons.find((reason) => reason !== 'same') as Reason | undefined),
  );
}

/** vLLM's answer in our form: blanks around text are no part of it, arguments are JSON (undefined where they are none). */
export function stripped(answer: Exclude<Answer, { readonly crash: string }>) {
  return {
    reasoning: pythonStrip(answer.reasoning),
    content: pythonStrip(answer.content),
    tool_calls: answer.tool_calls.map(({ name, arguments: text }) => ({ name, arguments: parsed(text) })),
  };
}

function argumentsReason(
  name: string,
  ours: JsonObject,
  theirs: JsonObject,
  tools: readonly WireTool[],
  outOfRange: (parameter: string) => boolean,
): Reason | undefined {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  const reasons = [...names]
    .filter((parameter) => !equal(ours[parameter], theirs[parameter]))
    .map((parameter): Reason | undefined => {
      if (outOfRange(parameter)) return 'integer_range';
      return saysMore(tools, name, parameter) ? 'schema_words' : undefined;
    });
  return reasons.includes(undefined) ? undefined : reasons[0];
}

/** Undefined for what is no JSON: Python writes NaN and Infinity. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** `str.strip`, written apart from the interpreter's own. */
function pythonStrip(text: string): string {
  const blank = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
  return text.replace(new RegExp(`^${blank}+`), '').replace(new RegExp(`${blank}+$`), '');
}

/** JSON equality: numbers by value (`-0` is `0`), objects whatever the order. */
function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal((a as JsonObject)[key], (b as JsonObject)[key]))
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
