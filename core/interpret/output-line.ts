/** One line of JSON Lines with a model's output: `{"input", "tools", "format"}` and whatever else it holds. */
import { UsageError } from '../faults.js';
import { isObject, type JsonObject, type ToolSpec } from '../message.js';

export interface OutputLine {
  readonly input: string;
  readonly tools: readonly ToolSpec[];
  /** Undefined where the line names none. */
  readonly format: string | undefined;
  /** The whole line. */
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * Tools come in MCP's form (`inputSchema`) or OpenAI's (`{type: "function", function: {parameters}}`). Throws
 * `UsageError` that names `place` (file and line) and what is wrong in it.
 */
export function outputLine(text: string, place: string): OutputLine {
  const value = objectOf(text, place);
  const { input, tools = [], format } = value;
  if (typeof input !== 'string') throw new UsageError(`${place}, input`, 'a string', shown(input));
  if (!Array.isArray(tools)) throw new UsageError(`${place}, tools`, 'a list of tools', shown(tools));
  if (format !== undefined && typeof format !== 'string')
    throw new UsageError(`${place}, format`, 'the name of a format', shown(format));
  const specs = tools.map((tool: unknown, index) => toolOf(tool, `${place}, tool ${index + 1}`));
  return { input, tools: specs, format, value };
}

/** A value as it is named in an error: JSON, cut short. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

function objectOf(text: string, place: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    // Windows programs put a byte order mark before the first line.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(place, 'a JSON object', (error as Error).message);
  }
  if (!isObject(value)) throw new UsageError(place, 'a JSON object', shown(value));
  return value;
}

function toolOf(value: unknown, place: string): ToolSpec {
  const tool = isObject(value) && isObject(value.function) ? value.function : value;
  if (!isObject(tool) || typeof tool.name !== 'string')
    throw new UsageError(place, 'a tool with a name', shown(value));
  return { name: tool.name, inputSchema: (tool.parameters ?? tool.inputSchema ?? {}) as JsonObject };
}
