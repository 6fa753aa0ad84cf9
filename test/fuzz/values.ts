/** Texts of values: what fits a schema, what almost fits, and what never should have been written. */
import type { Json } from '../../core/message.js';
import type { RandomStream } from '../../core/random.js';

export const PROSE = [
  'The customer wants to change the order, so I look it up first.',
  'Let me check the policy: if a < b and b > c, it holds.',
  'Done. 1 + 1 = 2 & "quoted" {braces}.',
  'Use the tool carefully.',
  'Ich prüfe das für Sie – einen Moment, bitte 🙂',
  '確認します。',
  'Steps:\n1. look\n2. act\n',
  'I could call <function or write </b> here.',
];

const TEXTS = [
  ...[
    'A12',
    'New York',
    'two\nlines',
    '  indented\n    more',
    'a < b &amp; <b>c</b>',
    'null',
    'Null',
    'true',
    '5',
    '',
  ],
  ...[
    '\n',
    ' ',
    'Müller 漢字 🙂',
    '{"a": 1}',
    '[1, 2]',
    '"quoted"',
    "'single'",
    '\\n',
    '<DONE>',
    'None',
    'x=1>2',
  ],
];
const INTEGERS = [
  ...[
    '0',
    '7',
    '-3',
    '+4',
    '007',
    '1_000',
    ' 12 ',
    '\t5',
    '\u00A08',
    '12345678901',
    '9007199254740991',
    '9007199254740993',
  ],
  ...[
    '-9007199254740993',
    '99999999999999999999',
    '3.0',
    '3.7',
    '1e3',
    '1,5',
    'three',
    '--1',
    '1__0',
    '0x10',
    '٣٤',
    '５',
  ],
];
const NUMBERS = [
  ...[
    '1.5',
    '-0.25',
    '2.0',
    '1e3',
    '1E-7',
    '.5',
    '5.',
    '1_0.5',
    '-0',
    '0.1',
    '123456789.123456789',
    '1e300',
    '1e999',
  ],
  ...['-1e999', 'inf', 'nan', 'Infinity', '1.2.3', '$5', '5%', ' 2.5 ', '9007199254740993', '१.५'],
];
const BOOLEANS = [
  'true',
  'false',
  'True',
  'FALSE',
  ' true ',
  '1',
  '0',
  'yes',
  'no',
  'on',
  '2',
  'truefalse',
  '\u001Ctrue',
];
const JSONS = [
  ...[
    '{"a": 1}',
    '{"a": {"b": [1, null, true]}}',
    '[]',
    '{}',
    '[1, "2", 3.5]',
    '[{"number": "X1", "seats": 2}]',
  ],
  ...[
    '{"id": 9007199254740993}',
    '[1e999]',
    '[NaN]',
    '{bad',
    "{'a': 1}",
    '{"a": 1,}',
    '{"a": 1} x',
    '[1, 2',
    'x, y',
  ],
  ...[
    '{"a": 1, "a": 2}',
    '{"k": "\\ud83d\\ude42"}',
    '{"k": "tab\there"}',
    '[-0, -0.0, 1.0, 1e2]',
    ' [ 1 ] ',
    '"text"',
    '5',
  ],
  ...['{"__proto__": 1, "constructor": 2}', '[[[[[[1]]]]]]', '{"big": 1e30}', '{"s": "9007199254740993"}'],
];
const ALL = [...TEXTS, ...INTEGERS, ...NUMBERS, ...BOOLEANS, ...JSONS, 'null', 'NULL', ' null'];

const FITTING: readonly (readonly [RegExp, readonly string[]])[] = [
  [/integer|int"/, INTEGERS],
  [/number|float/i, NUMBERS],
  [/bool/i, BOOLEANS],
  [/object|array|list|dict/, JSONS],
];

/** Mostly a text that is meant for the schema, else any. */
export function valueText(random: RandomStream, schema: Json | undefined): string {
  const said = JSON.stringify(schema ?? {});
  const fitting = FITTING.filter(([words]) => words.test(said)).flatMap(([, texts]) => texts);
  const texts = random.below(4) === 0 ? ALL : fitting.length > 0 ? fitting : TEXTS;
  return texts[random.below(texts.length)]!;
}
