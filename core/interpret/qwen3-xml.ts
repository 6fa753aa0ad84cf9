/**
 * Qwen 3's XML calls, read as vLLM's `qwen3` reasoning parser and `qwen3_xml` tool parser read them.
 *
 *   reasoning ──</think>──► content ──<tool_call>──► preamble ──<function=──► name ──>──► body ──</function>──► between
 *       └──────<tool_call>───────────────►┘  ▲                                                     │
 *                                 content ◄──┴──────────────────</tool_call>──────────────────────┘
 *
 * A tag that means nothing in a state is text of that state. Text outside reasoning, visible content, a name or
 * a body is dropped, and so are control tokens everywhere. A cut-off text ends whatever is open.
 */
import type { ToolSpec } from '../message.js';
import type { Interpretation, OutputFormat, Problem, WrittenCall } from './format.js';
import { readParameters } from './parameters.js';
import { isObject, schemaTypes } from './schema-types.js';
import { typedValue } from './typed-value.js';

type State = 'reasoning' | 'content' | 'preamble' | 'name' | 'body' | 'between';

/** Tokens that Qwen's tokenizers mark as special; a decoder that shows them must not change the reading. */
const CONTROL =
  '<\\|(?:endoftext|im_start|im_end|object_ref_start|object_ref_end|box_start|box_end|quad_start|quad_end|' +
  'vision_start|vision_end|vision_pad|image_pad|video_pad)\\|>';

/** Tags that are looked for in each state. */
const TAGS: Readonly<Record<State, RegExp>> = {
  reasoning: tags('<think>|</think>|<tool_call>'),
  content: tags('</think>|<tool_call>|<function='),
  preamble: tags('</tool_call>|<function='),
  name: tags('>|</function>'),
  body: tags('</function>'),
  between: tags('</tool_call>|<tool_call>|<function='),
};

const NEXT: Readonly<Record<State, Readonly<Record<string, State>>>> = {
  reasoning: { '<think>': 'reasoning', '</think>': 'content', '<tool_call>': 'preamble' },
  content: { '</think>': 'content', '<tool_call>': 'preamble', '<function=': 'name' },
  preamble: { '</tool_call>': 'content', '<function=': 'name' },
  name: { '>': 'body', '</function>': 'between' },
  body: { '</function>': 'between' },
  between: { '</tool_call>': 'content', '<tool_call>': 'preamble', '<function=': 'name' },
};

interface Draft {
  name: string;
  body: string;
}

export const qwen3Xml: OutputFormat = { name: 'qwen3_xml', interpret };

function interpret(text: string, tools: readonly ToolSpec[]): Interpretation {
  const drafts: Draft[] = [];
  const unread: string[] = [];
  let reasoning = '';
  let before = '';
  let after = '';
  let preamble = '';
  let calling = false;
  let state: State = 'reasoning';
  let at = 0;
  for (;;) {
    const tag: RegExp = TAGS[state];
    tag.lastIndex = at;
    const match: RegExpExecArray | null = tag.exec(text);
    const chunk = text.slice(at, match ? match.index : text.length);
    const draft = drafts.at(-1);
    if (state === 'reasoning') reasoning += chunk;
    else if (state === 'content' && calling) after += chunk;
    else if (state === 'content') before += chunk;
    else if (state === 'preamble') preamble += chunk;
    else if (draft && state === 'name') draft.name += chunk;
    else if (draft && state === 'body') draft.body += chunk;
    if (!match) break;
    at = match.index + match[0].length;
    const to: State | undefined = NEXT[state][match[0]];
    if (to === undefined) continue; // a control token
    if (state === 'preamble' && to === 'content') unread.push(preamble);
    if (to === 'preamble') preamble = '';
    if (to === 'name') drafts.push({ name: '', body: '' });
    if (to === 'preamble' || to === 'name') calling = true;
    state = to;
  }
  if (state === 'preamble' && preamble.trim() !== '') unread.push(preamble);

  const problems: Problem[] = unread.map((body) => ({ kind: 'unreadable_call', text: body }));
  if (state === 'reasoning') problems.push({ kind: 'unclosed_reasoning' });
  const calls: WrittenCall[] = [];
  for (const draft of drafts) {
    const name = draft.name.trim();
    if (name === '') {
      if (draft.body.trim() !== '') problems.push({ kind: 'unreadable_call', text: draft.body });
      continue;
    }
    calls.push({ name, arguments: typedArguments(name, draft.body, calls.length, tools, problems) });
  }
  // Text after a call is not part of the answer; with no call at all, nothing of the answer may be lost.
  const content = calls.length === 0 ? before + after : before;
  return { reasoning: reasoning.trim(), content: content.trim(), calls, problems };
}

function typedArguments(
  name: string,
  body: string,
  call: number,
  tools: readonly ToolSpec[],
  problems: Problem[],
): WrittenCall['arguments'] {
  const written = readParameters(body);
  if (written.unclosed !== undefined) {
    problems.push({ kind: 'unclosed_parameter', call, parameter: written.unclosed });
  }
  const schema = tools.find((tool) => tool.name === name)?.inputSchema;
  const properties = schema?.properties;
  const known = isObject(properties) ? properties : {};
  const entries = [...written.values].map(([parameter, text]) => {
    if (!schema || !Object.hasOwn(known, parameter)) return [parameter, text] as const;
    const { value, unsafe } = typedValue(text, schemaTypes(known[parameter], schema));
    if (unsafe) problems.push({ kind: 'integer_range', call, parameter, text });
    return [parameter, value] as const;
  });
  return Object.fromEntries(entries);
}

function tags(alternatives: string): RegExp {
  return new RegExp(`${alternatives}|${CONTROL}`, 'g');
}
