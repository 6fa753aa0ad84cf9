/**
 * What a model wrote, read once for training and evaluation alike: reasoning, visible content, tool calls.
 *
 * A format is one model family's way of writing them. A new family is one file that implements `OutputFormat`
 * and one line in `interpret.ts`. Formats are pure, safe inside workflows, linear in the text, and never throw:
 * what cannot be read is a problem in the result.
 */
import type { JsonObject, ToolSpec } from '../message.js';

/** One call as written; arguments typed by the tool's schema, in the order written. */
export interface WrittenCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** The arguments as JSON text, where JavaScript would write their numbers otherwise (`core/exact-json.ts`). */
  readonly argumentsText?: string;
}

/** What could not be read. `call` is the index within `calls`. Each has one sentence in `problemText`. */
export type Problem =
  | {
      readonly kind: 'integer_range';
      readonly call: number;
      readonly parameter: string;
      readonly text: string;
    }
  | { readonly kind: 'arguments_not_object'; readonly call: number; readonly text: string }
  | { readonly kind: 'unclosed_parameter'; readonly call: number; readonly parameter: string }
  | { readonly kind: 'unreadable_call'; readonly text: string }
  | { readonly kind: 'unclosed_reasoning' };

export interface Interpretation {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly WrittenCall[];
  readonly problems: readonly Problem[];
}

export interface OutputFormat {
  readonly name: string;
  /** The prompt has opened the reasoning, or the model does: text up to its end is reasoning. */
  readonly reasons: boolean;
  /** Reads one turn, as sampled after the generation prompt. Never throws. */
  interpret(text: string, tools: readonly ToolSpec[]): Interpretation;
}

/** The call that must not be executed because of the problem: what was written is not what would be passed. */
export function spoiltCall(problem: Problem): number | undefined {
  return problem.kind === 'integer_range' || problem.kind === 'arguments_not_object'
    ? problem.call
    : undefined;
}

/** The problem as one sentence for the model. */
export function problemText(problem: Problem): string {
  switch (problem.kind) {
    case 'integer_range':
      return `parameter "${problem.parameter}": ${shorten(problem.text)} is beyond the integers that can be passed exactly (9007199254740991)`;
    case 'arguments_not_object':
      return `the arguments are no JSON object: ${shorten(problem.text)}`;
    case 'unclosed_parameter':
      return `parameter "${problem.parameter}" was not closed with </parameter> and was ignored`;
    case 'unreadable_call':
      return `a tool call could not be read: ${shorten(problem.text)}`;
    case 'unclosed_reasoning':
      return 'the turn ended inside the reasoning: no answer and no tool call was written';
  }
}

function shorten(text: string): string {
  const flat = text.trim();
  if (flat.length <= 120) return flat;
  // Half a surrogate pair is no text.
  return `${flat.slice(0, 117).replace(/[\uD800-\uDBFF]$/, '')}...`;
}
