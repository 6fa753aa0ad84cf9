/** Outputs that cost a careless reader too much: each of any length, so that length and time can be compared. */

const inValue = (value: string): string => `</think><function=f><parameter=p>${value}</parameter></function>`;

/** Part that is repeated, and what stands around it. */
const TEXTS: Readonly<Record<string, readonly [part: string, around?: (repeated: string) => string]>> = {
  'angles in the reasoning': ['<'],
  'angles in the answer': ['<', (text) => `</think>${text}`],
  'angles in a call': ['<', (text) => `</think><tool_call>${text}`],
  'what is almost a tag': ['a < b </think <tool_cal <function', (text) => `</think>${text}`],
  'beginnings of control tokens': ['<|im_e', inValue],
  'control tokens': ['<|im_end|>', (text) => `</think>${text}`],
  'ends of the reasoning': ['</think>'],
  'calls without end': ['<tool_call>\n<function=show>\n', (text) => `</think>${text}`],
  'ends of calls': ['</tool_call>', (text) => `</think>${text}`],
  'ends of functions': ['</function>', (text) => `</think>${text}`],
  'functions without end': ['<function=f>', (text) => `</think>${text}`],
  'functions without a body': ['<function=f></function>', (text) => `</think>${text}`],
  'calls in calls': ['<tool_call><function=f><parameter=p>', (text) => `</think>${text}`],
  'tags in a name': ['<tool_call>', (text) => `</think><function=${text}`],
  'names in a nameless body': ['"name":', (text) => `</think><function=>${text}</function>`],
  'parameters without end': ['<parameter=order>\nx', (text) => `</think><function=f>${text}`],
  'parameters without a name': ['<parameter=', (text) => `</think><function=f>${text}`],
  'blanks behind an angle': [' ', (text) => `</think><function=f><${text}`],
  'angles and blanks': ['<  ', (text) => `</think><function=f>${text}`],
  'blanks in parameter tags': ['< parameter ', (text) => `</think><function=f>${text}`],
  'ends of parameters': ['</parameter>', (text) => `</think><function=f>${text}`],
  nulls: ['\0', (text) => `</think>${text}`],
  'half surrogate pairs': ['\uD83D', inValue],
  digits: ['9', inValue],
  'digits and underscores': ['1_', inValue],
  'digits of other scripts': ['٣', inValue],
  'digits and a letter': ['9', (text) => inValue(`${text}x`)],
  'a string without end': ['\\"', (text) => inValue(`"${text}`)],
  brackets: ['[', inValue],
  braces: ['{"a":', inValue],
  'nested arrays': ['[', (text) => inValue(text + text.replaceAll('[', ']'))],
  'a long array': ['1,', (text) => inValue(`[${text}1]`)],
  'JSON calls without end': ['<tool_call>{', (text) => `</think>${text}`],
  'JSON calls': [
    '<tool_call>{"name":"f","arguments":{"p":9007199254740993}}</tool_call>',
    (text) => `</think>${text}`,
  ],
  'a deep JSON call': [
    '[',
    (text) => `</think><tool_call>{"name":"f","arguments":${text}${text.replaceAll('[', ']')}}</tool_call>`,
  ],
  'members of a JSON call': [
    '"p":9007199254740993,',
    (text) => `</think><tool_call>{"name":"f","arguments":{${text}"q":1}}</tool_call>`,
  ],
};

export const HOSTILE_NAMES = Object.keys(TEXTS);

/** Tags that nobody closes, and what only looks like the beginning of one. */
export const UNCLOSED_NAMES = HOSTILE_NAMES.filter((name) =>
  /^angles|without (?:end|a name)|in calls/.test(name),
);

/** About `length` characters, or twice as many where every part is closed again. */
export function hostileText(name: string, length: number): string {
  const [part, around = (text: string): string => text] = TEXTS[name]!;
  return around(part.repeat(Math.ceil(length / part.length)));
}
