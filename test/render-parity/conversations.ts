/**
 * Conversations to render on both sides: made from a seed, with what templates and tokenizers tend to disagree on.
 * No control-like text: serving engines read it as control tokens and we do not, which `test/render` covers.
 */
import type { Json, JsonObject, Message, ToolSpec } from '../../core/message.js';
import { type RandomStream, randomStream } from '../../core/random.js';
import type { FirstPrompt } from '../../core/render/renderer.js';

export interface Conversation extends FirstPrompt {
  /** Ends with what the agent has to answer: a user's message or tool results. */
  readonly messages: readonly Message[];
}

/** Conversation `index` of a seed. */
export function conversation(seed: number, index: number): Conversation {
  const random = randomStream('render-parity', seed, index);
  const tools = repeated(random, 0, 3, (i) => tool(random, i));
  const systemMessages = repeated(random, 0, 2, () => text(random));
  const messages: Message[] = [{ role: 'user', content: words(random) }];
  let calls = 0;
  for (let turn = random.below(4); turn > 0; turn--) {
    const called = tools.length === 0 ? 0 : random.below(4);
    const toolCalls = Array.from({ length: called }, () => ({
      id: `c${calls++}`,
      name: pick(random, tools).name,
      arguments: argumentsOf(random),
    }));
    const reasoning = random.below(3) === 0 ? '' : text(random).trim();
    const content = called > 0 && random.below(2) === 0 ? '' : text(random).trim();
    messages.push({ role: 'assistant', reasoning, content, toolCalls });
    for (const { id, name } of toolCalls)
      messages.push({ role: 'tool', callId: id, name, content: text(random), isError: false });
    if (called === 0) messages.push({ role: 'user', content: words(random) });
  }
  return { systemMessages, tools, messages };
}

/** Lengths of the prefixes after which the agent speaks: before each of its messages, and the whole. */
export function turnsOf({ messages }: Conversation): number[] {
  const before = messages.flatMap((message, i) => (message.role === 'assistant' ? [i] : []));
  return [...before, messages.length];
}

const WORDS = [
  'please refund order r417 for $80 .',
  "don't, you'll, WE'VE, it's",
  'Zürich, 漢字, עברית, हिन्दी, ไทย',
  '🙂👩‍👩‍👧 e\u0301 \u00e9 ﬁ \u212b \u1e9b\u0323',
  '1234567890, 3.14 and -7e10',
  '{"a": [1, null, "x\\n"], "b": {"c": 1.0}}',
  '<b>bold</b> & "quoted" \'single\' <br/>',
  '</tool> <function> <parameter=x> {{ name }} {% if %} {# no #}',
  'C:\\path\\to, tab\there',
  'x'.repeat(70),
  '\u200b\u200d\ufeff\u2060',
  '\ue000\ue001\ue002\ue0030\ue004',
  '\u0000\u0007\u001b[0m\u007f\u0085\u2028\u2029',
];
const BLANKS = [
  ' ',
  '  ',
  '\n',
  '\n\n',
  '\t',
  '\r\n',
  ' \n ',
  '\u00a0',
  '\u3000',
  '\u0085',
  '\ufeff',
  '\u001f',
  '',
  '',
  '',
];

/** At least one word; blanks around and between. */
function words(random: RandomStream): string {
  const parts = repeated(random, 1, 4, () => pick(random, WORDS) + pick(random, BLANKS));
  return pick(random, BLANKS) + parts.join('');
}

/** Words, or blanks only. */
function text(random: RandomStream): string {
  return random.below(8) === 0 ? pick(random, BLANKS) : words(random);
}

const NUMBERS = [
  0,
  1,
  -1,
  42,
  1.5,
  -0.25,
  1e-5,
  1.25e-7,
  0.0001,
  1e16,
  1e21,
  1.5e300,
  5e-324,
  2 ** 53,
  0.1 + 0.2,
  -1e-10,
];

function argumentsOf(random: RandomStream): JsonObject {
  return Object.fromEntries(repeated(random, 0, 3, (i) => [pick(random, KEYS) + i, value(random, 2)]));
}

const KEYS = ['order', 'größe', 'a b', '<key>', "it's", '"', 'snake_case', '\\', '漢', '9', '&amp;'];

function value(random: RandomStream, depth: number): Json {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return null;
    case 1:
      return random.below(2) === 0;
    case 2:
      return pick(random, NUMBERS);
    case 3:
    case 4:
      return text(random);
    case 5:
      return [];
    case 6:
      return repeated(random, 0, 3, () => value(random, depth - 1));
    default:
      return Object.fromEntries(
        repeated(random, 0, 3, (i) => [pick(random, KEYS) + i, value(random, depth - 1)]),
      );
  }
}

function tool(random: RandomStream, index: number): ToolSpec {
  const properties = Object.fromEntries(
    repeated(random, 0, 4, (i) => [pick(random, KEYS) + i, property(random)]),
  );
  const inputSchema: JsonObject = {
    type: 'object',
    properties,
    ...(random.below(2) === 0 ? { required: Object.keys(properties).slice(0, 1) } : {}),
    ...(random.below(4) === 0 ? { additionalProperties: false, $defs: {} } : {}),
  };
  const described = random.below(4) === 0 ? {} : { description: text(random) };
  return { name: `tool_${index}`, ...described, inputSchema };
}

function property(random: RandomStream): JsonObject {
  return {
    type: pick<Json>(random, ['string', 'integer', 'number', ['string', 'null'], 'array']),
    ...(random.below(2) === 0 ? { description: text(random) } : {}),
    ...(random.below(3) === 0 ? { enum: repeated(random, 1, 4, () => value(random, 0)) } : {}),
    ...(random.below(3) === 0 ? { minimum: pick(random, NUMBERS), default: value(random, 2) } : {}),
  };
}

function repeated<T>(random: RandomStream, least: number, most: number, make: (index: number) => T): T[] {
  return Array.from({ length: least + random.below(most - least + 1) }, (_, index) => make(index));
}

function pick<T>(random: RandomStream, items: readonly T[]): T {
  return items[random.below(items.length)] as T;
}
