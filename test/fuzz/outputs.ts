/**
 * Outputs as models write them, as models break them, and as nobody should: drawn from a seed, so that every one can
 * be drawn again by its number.
 */
import type { Json, JsonObject } from '../../core/message.js';
import { type RandomStream, randomStream } from '../../core/random.js';
import { TOOLS, type WireTool } from './tools.js';
import { PROSE, valueText } from './values.js';

const FORMATS = ['qwen3_xml', 'qwen3_xml', 'qwen3_xml_plain', 'hermes', 'hermes_plain'] as const;

type FormatName = (typeof FORMATS)[number];

export interface Output {
  readonly format: FormatName;
  readonly kind: 'realistic' | 'mutated' | 'hostile' | 'vector';
  readonly input: string;
  readonly tools: readonly WireTool[];
}

/** Output number `index` of the seed. */
export function output(seed: string, index: number): Output {
  const random = randomStream('output', seed, index);
  const format = pick(random, FORMATS);
  const kind = pick(random, ['realistic', 'mutated', 'hostile'] as const);
  const tools = chance(random, 20) ? [] : TOOLS.filter(() => !chance(random, 8));
  if (kind === 'hostile') return { format, kind, input: hostile(random), tools };
  const text = realistic(random, format);
  return { format, kind, input: kind === 'mutated' ? mutated(random, text) : text, tools };
}

function realistic(random: RandomStream, format: FormatName): string {
  const plain = format.endsWith('_plain');
  const thought = plain ? '' : `${chance(random, 6) ? '<think>\n' : ''}${prose(random)}`;
  const end = plain ? '' : pick(random, ['\n</think>\n\n', '\n</think>\n\n', '</think>', '\n']);
  const calls = Array.from({ length: random.below(4) }, () =>
    format.startsWith('qwen3_xml') ? xmlCall(random) : jsonCall(random),
  );
  const parts = [
    chance(random, 2) ? `${prose(random)}\n\n` : '',
    calls.join(pick(random, ['\n', '', '\n\n  \n'])),
  ];
  const last = pick(random, ['', '', '<|im_end|>', '\n<|im_end|>', `\n${prose(random)}`, ' <DONE>']);
  return `${thought}${end}${parts.join('')}${last}`;
}

function xmlCall(random: RandomStream): string {
  const { name, properties } = pickTool(random);
  const parameters = Object.keys(properties)
    .filter(() => !chance(random, 3))
    .map((parameter) => {
      const text = valueText(random, properties[parameter]);
      return `<parameter=${parameter}>${chance(random, 8) ? text : `\n${text}\n`}</parameter>`;
    });
  const body = parameters.map((parameter) => `${parameter}\n`).join('');
  const written = `<function=${name}>\n${body}</function>`;
  return chance(random, 10) ? written : `<tool_call>\n${written}\n</tool_call>`;
}

function jsonCall(random: RandomStream): string {
  const { name, properties } = pickTool(random);
  const entries = Object.keys(properties)
    .filter(() => !chance(random, 3))
    .map((parameter) => {
      const text = valueText(random, properties[parameter]);
      const value = chance(random, 2) && isJson(text) ? text : JSON.stringify(text);
      return `${JSON.stringify(parameter)}: ${value}`;
    });
  const values = chance(random, 25)
    ? pick(random, ['null', '[]', '"{}"', '3', 'NaN'])
    : `{${entries.join(', ')}}`;
  const key = chance(random, 25) ? 'parameters' : 'arguments';
  const call = chance(random, 8)
    ? `{"${key}": ${values}, "name": "${name}"}`
    : `{"name": "${name}", "${key}": ${values}}`;
  return `<tool_call>\n${call}\n</tool_call>`;
}

function pickTool(random: RandomStream): { readonly name: string; readonly properties: JsonObject } {
  const { name, parameters } = pick(random, TOOLS).function;
  const properties = (parameters?.properties ?? {}) as JsonObject;
  return { name: chance(random, 12) ? `${name}x` : name, properties };
}

const TAGS = [
  ...[
    '<think>',
    '</think>',
    '<tool_call>',
    '</tool_call>',
    '<function=',
    '</function>',
    '<parameter=',
    '</parameter>',
  ],
  ...[
    '<function=convert>',
    '<parameter=value>',
    '<|im_end|>',
    '<|im_start|>',
    '<|endoftext|>',
    '< parameter = flag >',
  ],
  ...[
    '</ parameter >',
    '<function>',
    '<parameter>',
    '<tool_call',
    '</function',
    '<|im_',
    '>',
    '<function=>',
    '<function= >',
  ],
];
const SCRAPS = [
  ...[
    '<',
    '>',
    '/',
    '=',
    '"',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '\\',
    '\n',
    ' ',
    '\t',
    '\u0085',
    '\uFEFF',
    '\u001C',
    '\u0000',
  ],
  ...[
    '\uD800',
    '\uDC00',
    'é',
    '漢',
    '🙂',
    'null',
    'true',
    '1',
    '9007199254740993',
    '1e999',
    'NaN',
    'name',
    'arguments',
  ],
  ...[
    '{"name": "convert", "arguments": {"value": 1}}',
    '{"name": 1}',
    '"name": "get_time"',
    'convert',
    'a b',
  ],
];

/** Tags and scraps in any order, up to `most` of them. */
export function hostile(random: RandomStream, most = 60): string {
  const length = 1 + random.below(most);
  return Array.from({ length }, () => pick(random, chance(random, 2) ? TAGS : SCRAPS)).join('');
}

/** One to four edits: a piece lost, doubled, moved, cut off, or put in from elsewhere. */
function mutated(random: RandomStream, text: string): string {
  let changed = text;
  for (let edit = random.below(4); edit >= 0; edit -= 1) {
    const from = random.below(changed.length + 1);
    const to = from + random.below(1 + Math.min(30, changed.length - from));
    const piece = changed.slice(from, to);
    const without = changed.slice(0, from) + changed.slice(to);
    const at = random.below(without.length + 1);
    const tag = pick(random, chance(random, 2) ? TAGS : SCRAPS);
    changed = pick(random, [
      without,
      changed.slice(0, to) + piece + changed.slice(to),
      without.slice(0, at) + piece + without.slice(at),
      changed.slice(0, from),
      changed.slice(0, from) + tag + changed.slice(from),
      changed.slice(0, from) + tag + changed.slice(from),
      changed.replace(tag, ''),
    ]);
  }
  return changed;
}

function prose(random: RandomStream): string {
  return Array.from({ length: 1 + random.below(4) }, () => pick(random, PROSE)).join(' ');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text) as Json;
    return true;
  } catch {
    return false;
  }
}

/** One in `n`. */
export function chance(random: RandomStream, n: number): boolean {
  return random.below(n) === 0;
}

export function pick<T>(random: RandomStream, items: readonly T[]): T {
  return items[random.below(items.length)]!;
}
