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
import type { Json, ToolSpec } from '../message.js';
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

interface Draft {
  name: string;
  body: string;
}

interface Pieces {
  /** Visible text before the first call, and behind it. */
  before: string;
  after: string;
  readonly drafts: Draft[];
  /** What stands in a `<tool_call>` without a function. */
  readonly unread: string[];
}

export const qwen3Xml: OutputFormat = { name: 'qwen3_xml', interpret };

function interpret(text: string, tools: readonly ToolSpec[]): Interpretation {
  const { reasoning, content, ended } = readReasoning(text);
  const { before, after, drafts, unread } = takeApart(content);
  const problems: Problem[] = unread.map((body) => ({ kind: 'unreadable_call', text: body }));
  if (!ended) problems.push({ kind: 'unclosed_reasoning' });
  const types = new ToolTypes(tools);
  const calls: WrittenCall[] = [];
  let begun = false;
  for (const draft of drafts) {
    const written = draft.name === '' ? (NAME_IN_BODY.exec(draft.body)?.[1] ?? '') : draft.name;
    begun ||= written !== '';
    const name = stripped(written);
    if (draft.name !== written || name === '') {
      if (stripped(draft.body) !== '') problems.push({ kind: 'unreadable_call', text: draft.body });
      if (name === '') continue;
    }
    calls.push({ name, arguments: typedArguments(name, draft.body, calls.length, types, problems) });
  }
  // As the engine does it: text behind a call is no part of the answer, and stands first where no call was begun.
  const visible = begun ? before : after + before;
  return { reasoning: stripped(reasoning), content: stripped(visible), calls, problems };
}

function takeApart(text: string): Pieces {
  const pieces: Pieces = { before: '', after: '', drafts: [], unread: [] };
  let preamble = '';
  let calling = false;
  let state: State = 'content';
  let at = 0;
  for (;;) {
    const tag: RegExp = TAGS[state];
    tag.lastIndex = at;
    const match: RegExpExecArray | null = tag.exec(text);
    const to: State | undefined = match ? NEXT[state][match[0]] : undefined;
    const end = match ? match.index + match[0].length : text.length;
    // Without a next state, a tag is text, and a control token nothing.
    const chunk = text.slice(at, match && (to || match[0].startsWith('<|')) ? match.index : end);
    const draft = pieces.drafts.at(-1);
    if (state === 'content' && calling) pieces.after += chunk;
    else if (state === 'content') pieces.before += chunk;
    else if (state === 'preamble') preamble += chunk;
    else if (draft && state === 'name') draft.name += chunk;
    else if (draft && state === 'body') draft.body += chunk;
    if (!match) break;
    at = end;
    if (to === undefined) continue;
    if (state === 'preamble' && to === 'content') pieces.unread.push(preamble);
    if (to === 'preamble') preamble = '';
    if (to === 'name') pieces.drafts.push({ name: '', body: '' });
    calling ||= to === 'preamble' || to === 'name';
    state = to;
  }
  if (state === 'preamble' && stripped(preamble) !== '') pieces.unread.push(preamble);
  return pieces;
}

function typedArguments(
  name: string,
  body: string,
  call: number,
  types: ToolTypes,
  problems: Problem[],
): WrittenCall['arguments'] {
  const written = readParameters(body);
  if (written.unclosed !== undefined) {
    problems.push({ kind: 'unclosed_parameter', call, parameter: written.unclosed });
  }
  const entries = [...written.values].map(([parameter, text]): readonly [string, Json] => {
    const { value, unsafe } = typedValue(text, types.of(name, parameter));
    if (unsafe) problems.push({ kind: 'integer_range', call, parameter, text });
    return [parameter, value];
  });
  return Object.fromEntries(entries);
}

function tags(alternatives: string): RegExp {
  return new RegExp(`${alternatives}|${CONTROL}`, 'g');
}
