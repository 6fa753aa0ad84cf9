/** What holds for every text and every schema, whatever the family. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OutputFormat, problemText, type WrittenCall } from '../../core/interpret/format.js';
import { FORMAT_NAMES, outputFormat } from '../../core/interpret/interpret.js';
import type { Json, JsonObject, ToolSpec } from '../../core/message.js';
import { WRITERS, writeTurn } from '../fuzz/writer.js';

const formats = FORMAT_NAMES.map((name) => [name, outputFormat(name)] as const);

const tags = [
  ...['<think>', '</think>', '<tool_call>', '</tool_call>', '<function=', '<function=f>', '</function>'],
  ...['<parameter=', '<parameter=p>', '</parameter>', '<|im_end|>', '{"name": "f", "arguments": {"p": 1}}'],
];
const scraps = [
  '<',
  '>',
  '\n',
  ' ',
  '1',
  '{"p":',
  '}',
  '"',
  '\\',
  '\u0000',
  '\ud800',
  '\udc00',
  '_',
  'é',
  '\ufeff',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...tags), fc.constantFrom(...scraps), fc.string()), { maxLength: 40 })
  .map((pieces) => pieces.join(''));
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as Json);

/** Schemas with the words that matter in places where they may or may not belong. */
const schemaWord = fc.constantFrom(
  'type',
  'enum',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  'const',
  'nullable',
  'properties',
  'p',
);
const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    json,
    fc.constantFrom<Json>('integer', '#', '#/properties/p', 'null'),
    fc.array(tie('schema'), { maxLength: 3 }).map((list): Json => list),
    fc.dictionary(schemaWord, tie('schema'), { maxKeys: 4 }).map((object): Json => object),
  ),
}));

describe.each(formats)('%s', (_name, format: OutputFormat) => {
  test('never throws, and says only what can be passed on', () => {
    fc.assert(
      fc.property(text, schema, (input, inputSchema) => {
        const read = format.interpret(input, [{ name: 'f', inputSchema: inputSchema as JsonObject }]);
        for (const problem of read.problems) expect(problemText(problem)).not.toBe('');
        const written = JSON.stringify(read.calls);
        expect(JSON.stringify(JSON.parse(written))).toBe(written);
        for (const { arguments: values } of read.calls) expect(Array.isArray(values)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('never throws for tools that are none', () => {
    fc.assert(
      fc.property(text, fc.array(json), (input, tools) => {
        format.interpret(input, tools as unknown as ToolSpec[]);
      }),
      { numRuns: 100 },
    );
  });

  test('what is written as the family writes it is read back the same', () => {
    fc.assert(
      fc.property(turn, ({ reasoning, content, calls }) => {
        const written = writeTurn(format.name, { reasoning, content, calls });
        const read = format.interpret(written, [TOOL]);
        expect(read).toEqual({
          reasoning: format.reasons ? reasoning : '',
          content,
          calls,
          problems: [],
        });
      }),
      { numRuns: 300 },
    );
  });

  test('reading what was written again changes nothing', () => {
    fc.assert(
      fc.property(turn, (first) => {
        const once = format.interpret(writeTurn(format.name, first), [TOOL]);
        expect(format.interpret(writeTurn(format.name, once), [TOOL])).toEqual(once);
      }),
      { numRuns: 100 },
    );
  });

  test('calls one after another are the calls of each', () => {
    fc.assert(
      fc.property(turn, turn, (one, two) => {
        const both = [...one.calls, ...two.calls];
        const written = writeTurn(format.name, { reasoning: 'r', content: '', calls: both });
        expect(format.interpret(written, [TOOL]).calls).toEqual(both);
      }),
      { numRuns: 100 },
    );
  });

  // Without a reasoning parser, nobody takes them out.
  if (!format.reasons) return;
  test('control tokens between the pieces change nothing', () => {
    const control = fc.array(fc.constantFrom('', '<|im_end|>', '<|endoftext|>', '<|im_start|>'), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(turn, control, ({ reasoning, content, calls }, tokens) => {
        const pieces = [
          reasoning,
          '\n</think>\n\n',
          content,
          '\n\n',
          ...calls.map(WRITERS[format.name]!),
          '\n',
        ];
        const shown = pieces.map((piece, at) => piece + tokens[at % tokens.length]!).join('');
        expect(format.interpret(shown, [TOOL])).toEqual(format.interpret(pieces.join(''), [TOOL]));
      }),
      { numRuns: 200 },
    );
  });
});

const TOOL: ToolSpec = {
  name: 'f',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      count: { $ref: '#/$defs/Count' },
      price: { anyOf: [{ type: 'number' }, { type: 'null' }] },
      sure: { type: 'boolean' },
      list: { type: 'array', items: {} },
      object: { type: ['object', 'null'] },
    },
    $defs: { Count: { type: 'integer' } },
  },
};

/** Prose without a tag and without blanks around it. */
const prose = fc.string({ unit: 'grapheme' }).map((value) => value.replace(/[<>|]/g, '').trim());
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const value = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map(
    (made) =>
      JSON.parse(JSON.stringify(made).replace(/[<>]/g, ''), (_key, part: unknown) =>
        typeof part === 'number' && !safe(part) ? 0 : part,
      ) as Json,
  );
const calls = fc.array(
  fc
    .record(
      {
        text: fc.string({ unit: 'grapheme' }).map((made) => made.replace(/[<>]/g, '')),
        count: fc.maxSafeInteger().map((made) => made + 0),
        price: fc.oneof(number.filter(safe), fc.constant(null)),
        sure: fc.boolean(),
        list: fc.array(value, { maxLength: 3 }),
        object: fc.oneof(
          fc.dictionary(
            fc.string().map((key) => key.replace(/[<>]/g, '')),
            value,
            { maxKeys: 3, noNullPrototype: true },
          ),
          fc.constant(null),
        ),
      },
      { requiredKeys: [] },
    )
    .map((values): WrittenCall => ({ name: 'f', arguments: values as JsonObject })),
  { maxLength: 3 },
);
const turn = fc.record({ reasoning: prose, content: prose, calls });

/** Numbers that their own text names exactly: an integer beyond 2^53 is a problem, and -0 is 0. */
function safe(value: number): boolean {
  return (!Number.isInteger(value) || Number.isSafeInteger(value)) && !Object.is(value, -0);
}
