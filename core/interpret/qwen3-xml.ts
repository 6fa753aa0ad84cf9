/**
 * Qwen 3's XML calls, read as vLLM's `qwen3` reasoning parser and then its `qwen3_xml` tool parser read them.
 *
 *   content ──<tool_call>──► preamble ──<function=──► name ──>──► body ──</function>──► between
 *     ▲ └───────────────────<function=─────────────────►┘                                  │
 *     └──────────────────────────────</tool_call>──────────────────────────────────────────┘
 *
 * A tag that means nothing in a state is text of that state. Text outside visible content, a name or a body is
 * dropped, and so are control tokens everywhere. A cut-off text ends whatever is open.
 */
import type { Json, JsonObject, ToolSpec } from '../message.js';
import type { Interpretation, OutputFormat, Problem, WrittenCall } from './format.js';
import { readParameters } from './parameters.js';
import { BLANKS, stripped } from './python-text.js';
import { CONTROL, readReasoning } from './reasoning.js';
import { ToolTypes } from './tool-types.js';
import { typedValue } from './typed-value.js';

type State = 'content' | 'preamble' | 'name' | 'body' | 'between';

/** Tags that are looked for in each state. A `>` that ends another tag ends no name. */
const TAGS: Readonly<Record<State, RegExp>> = {
  content: tags('</think>|<tool_call>|<function='),
  preamble: tags('</tool_call>|<function='),
  name: tags('>|</function>|</?think>|</?tool_call>|</parameter>'),
  body: tags('</function>'),
  between: tags('</tool_call>|<tool_call>|<function='),
};

const NEXT: Readonly<Record<State, Readonly<Record<string, State>>>> = {
  content: { '</think>': 'content', '<tool_call>': 'preamble', '<function=': 'name' },
  preamble: { '</tool_call>': 'content', '<function=': 'name' },
  name: { '>': 'body', '</function>': 'between' },
  body: { '</function>': 'between' },
  between: { '</tool_call>': 'content', '<tool_call>': 'preamble', '<function=': 'name' },
};

/** The engine looks for this in the body of a function whose tag has no name. */
const NAME_IN_BODY = new RegExp(`"name"[${BLANKS}]*:[${BLANKS}]*"([^"]*)"`);

/** Where no parameter was written: one object for all such calls. */
const NONE: Omit<WrittenCall, 'name'> = { arguments: Object.freeze({}) };

export const qwen3Xml: OutputFormat = { name: 'qwen3_xml', reasons: true, interpret };

/** After a prompt that has closed the reasoning (`enable_thinking: false`): vLLM reads all of the text for calls then. */
export const qwen3XmlPlain: OutputFormat = {
  name: 'qwen3_xml_plain',
  reasons: false,
  interpret(text, tools) {
    const reader = new CallReader(new ToolTypes(tools));
    const visible = walk(text, reader);
    const { calls, problems } = reader;
    return { reasoning: '', content: stripped(visible), calls, problems };
  },
};

function interpret(text: string, tools: readonly ToolSpec[]): Interpretation {
  const { reasoning, content, ended } = readReasoning(text);
  const reader = new CallReader(new ToolTypes(tools));
  if (!ended) reader.problems.push({ kind: 'unclosed_reasoning' });
  const visible = walk(content, reader);
  const { calls, problems } = reader;
  return { reasoning: stripped(reasoning), content: stripped(visible), calls, problems };
}

/** The visible text; the calls go to the reader. */
function walk(text: string, reader: CallReader): string {
  let before = '';
  let after = '';
  let preamble = '';
  let name = '';
  let body = '';
  let calling = false;
  let state: State = 'content';
  let from = 0;
  let at = 0;
  for (;;) {
    const tag: RegExp = TAGS[state];
    tag.lastIndex = at;
    const match: RegExpExecArray | null = tag.exec(text);
    const to: State | undefined = match ? NEXT[state][match[0]] : undefined;
    if (match) at = match.index + match[0].length;
    // Without a next state, a tag is text, and a control token nothing.
    if (match && to === undefined && !match[0].startsWith('<|')) continue;
    const chunk = text.slice(from, match?.index);
    if (state === 'content' && calling) after += chunk;
    else if (state === 'content') before += chunk;
    else if (state === 'preamble') preamble += chunk;
    else if (state === 'name') name += chunk;
    else if (state === 'body') body += chunk;
    if (!match) break;
    from = at;
    if (to === undefined) continue;
    if (state === 'preamble' && to === 'content') reader.unreadable(preamble);
    if (to === 'preamble') preamble = '';
    if (to === 'between') {
      reader.read(name, body);
      name = '';
      body = '';
    }
    calling ||= to === 'preamble' || to === 'name';
    state = to;
  }
  if (state === 'name' || state === 'body') reader.read(name, body);
  if (state === 'preamble' && stripped(preamble) !== '') reader.unreadable(preamble);
  // As the engine does it: text behind a call is no part of the answer, and stands first where no call was begun.
  return reader.begun ? before : after + before;
}

/** Calls and problems in the order written. */
class CallReader {
  readonly calls: WrittenCall[] = [];
  readonly problems: Problem[] = [];
  /** A function had a name, if only blanks. */
  begun = false;

  constructor(private readonly types: ToolTypes) {}

  unreadable(text: string): void {
    this.problems.push({ kind: 'unreadable_call', text });
  }

  read(written: string, body: string): void {
    const found = written === '' ? (NAME_IN_BODY.exec(body)?.[1] ?? '') : written;
    this.begun ||= found !== '';
    const name = stripped(found);
    if ((written === '' || name === '') && stripped(body) !== '') this.unreadable(body);
    if (name === '') return;
    this.calls.push({ name, ...(body.includes('<') ? this.typedArguments(name, body) : NONE) });
  }

  private typedArguments(name: string, body: string): Omit<WrittenCall, 'name'> {
    const call = this.calls.length;
    const written = readParameters(body);
    if (written.unclosed !== undefined) {
      this.problems.push({ kind: 'unclosed_parameter', call, parameter: written.unclosed });
    }
    const texts = new Map<string, string>();
    const entries = [...written.values].map(([parameter, text]): readonly [string, Json] => {
      const { value, unsafe, written: exact } = typedValue(text, this.types.of(name, parameter));
      if (unsafe) this.problems.push({ kind: 'integer_range', call, parameter, text });
      if (exact !== undefined) texts.set(parameter, exact);
      return [parameter, value];
    });
    const values = Object.fromEntries(entries);
    return { arguments: values, ...(texts.size > 0 ? { argumentsText: objectText(values, texts) } : {}) };
  }
}

/** The object as JSON text, with these members as they were written. */
function objectText(values: JsonObject, texts: ReadonlyMap<string, string>): string {
  const members = Object.entries(values).map(
    ([name, value]) => `${JSON.stringify(name)}: ${texts.get(name) ?? JSON.stringify(value)}`,
  );
  return `{${members.join(', ')}}`;
}

function tags(alternatives: string): RegExp {
  return new RegExp(`${alternatives}|${CONTROL}`, 'g');
}
