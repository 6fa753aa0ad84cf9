/**
 * Calls as JSON: `<tool_call>{"name": "...", "arguments": {...}}</tool_call>`, as Hermes, Qwen 2.5 and Qwen 3 (not its
 * coders) write them, read as vLLM's `hermes` tool parser reads them.
 *
 * All or nothing: when one call cannot be read, the engine takes the whole text for the answer. Values keep the types
 * that the JSON gives them; schemas change nothing.
 */
import { losesForm } from '../exact-json.js';
import { isObject, type Json, type JsonObject } from '../message.js';
import type { Interpretation, OutputFormat, Problem, WrittenCall } from './format.js';
import { memberTexts, readJson } from './json-text.js';
import { stripped } from './python-text.js';
import { readReasoning } from './reasoning.js';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

/** With vLLM's `qwen3` reasoning parser before it: the prompt has opened the reasoning. */
export const hermes: OutputFormat = {
  name: 'hermes',
  reasons: true,
  interpret(text) {
    const { reasoning, content, ended } = readReasoning(text);
    const problems: readonly Problem[] = ended ? [] : [{ kind: 'unclosed_reasoning' }];
    return { ...read(content, problems), reasoning: stripped(reasoning) };
  },
};

/** Without a reasoning parser: models that do not think. */
export const hermesPlain: OutputFormat = {
  name: 'hermes_plain',
  reasons: false,
  interpret: (text) => read(text, []),
};

function read(text: string, before: readonly Problem[]): Interpretation {
  const problems: Problem[] = [...before];
  const bodies = callBodies(text);
  const calls: WrittenCall[] = [];
  for (const body of bodies) {
    const call = readCall(body, calls.length, problems);
    if (call) calls.push(call);
    else problems.push({ kind: 'unreadable_call', text: body });
  }
  const all = calls.length === bodies.length;
  const content = all && bodies.length > 0 ? text.slice(0, text.indexOf(OPEN)) : text;
  return {
    reasoning: '',
    content: stripped(content),
    calls: all ? calls : [],
    problems: all ? problems : problems.filter((problem) => !('call' in problem)),
  };
}

/** Between each opening tag and the next closing tag; the last may be cut off. */
function callBodies(text: string): readonly string[] {
  const bodies: string[] = [];
  for (let open = text.indexOf(OPEN); open >= 0; ) {
    const close = text.indexOf(CLOSE, open + OPEN.length);
    bodies.push(text.slice(open + OPEN.length, close < 0 ? undefined : close));
    open = close < 0 ? -1 : text.indexOf(OPEN, close + CLOSE.length);
  }
  return bodies;
}

/** Undefined unless the text is an object with a name and arguments of any kind. */
function readCall(body: string, call: number, problems: Problem[]): WrittenCall | undefined {
  const json = readJson(body);
  if (!isObject(json?.value)) return undefined;
  const { name, arguments: values } = json.value;
  if (typeof name !== 'string' || values === undefined) return undefined;
  if (!isObject(values)) {
    problems.push({ kind: 'arguments_not_object', call, text: JSON.stringify(values) });
    return { name, arguments: {} };
  }
  if (json.unsafe) return { name, arguments: exactArguments(body, values, call, problems) };
  const text = losesForm(body) ? new Map(memberTexts(body)).get('arguments') : undefined;
  return {
    name,
    arguments: values,
    ...(text !== undefined && losesForm(text) ? { argumentsText: text } : {}),
  };
}

/** A value that holds an integer beyond 2^53 stays text, and is named. */
function exactArguments(body: string, values: JsonObject, call: number, problems: Problem[]): JsonObject {
  const written = new Map(memberTexts(new Map(memberTexts(body)).get('arguments') ?? '{}'));
  const entries = Object.entries(values).map(([parameter, value]): readonly [string, Json] => {
    const text = written.get(parameter);
    if (text === undefined || readJson(text)?.unsafe !== true) return [parameter, value];
    problems.push({ kind: 'integer_range', call, parameter, text });
    return [parameter, text];
  });
  return Object.fromEntries(entries);
}
