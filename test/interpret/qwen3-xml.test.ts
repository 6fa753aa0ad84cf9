/** What the vectors leave open: typing by schema, problems as data, and no text that can make it throw. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemText } from '../../core/interpret/format.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Json, JsonObject } from '../../core/message.js';

const format = outputFormat('qwen3_xml');

function call(parameter: string, text: string, properties: JsonObject, rest: JsonObject = {}) {
  const schema: JsonObject = { type: 'object', properties, ...rest };
  const written = `</think>\n<tool_call>\n<function=f>\n<parameter=${parameter}>\n${text}\n</parameter>\n</function>\n</tool_call>`;
  return format.interpret(written, [{ name: 'f', inputSchema: schema }]);
}

describe('typing', () => {
  const cases: readonly (readonly [string, JsonObject, string, Json])[] = [
    ['nullable integer', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'null', null],
    ['nullable by keyword', { type: 'integer', nullable: true }, 'null', null],
    ['string stays "null"', { type: 'string' }, 'null', 'null'],
    ['type list', { type: ['number', 'string'] }, '1.50', 1.5],
    ['integer-valued number', { type: 'number' }, '2.0', 2],
    ['exponent', { type: 'number' }, '1e3', 1000],
    ['not finite', { type: 'number' }, '1e999', '1e999'],
    ['boolean word', { type: 'boolean' }, 'True', true],
    ['integer before boolean', { type: ['boolean', 'integer'] }, '1', 1],
    ['enum of integers', { enum: [1, 2] }, '2', 2],
    ['nested object', { type: 'object' }, '{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
    ['array', { type: 'array' }, '[1, "2"]', [1, '2']],
    ['oneOf string wins last', { oneOf: [{ type: 'string' }, { type: 'array' }] }, '[1]', [1]],
    ['unknown type word', { type: 'any' }, '[1]', [1]],
    ['leading zeros', { type: 'integer' }, '007', 7],
    ['minus zero', { type: 'integer' }, '-0', 0],
    ['no schema words', {}, '5', '5'],
    [
      'same type in two branches',
      { anyOf: [{ type: 'integer' }, { type: 'integer', minimum: 1 }] },
      'x',
      'x',
    ],
  ];
  test.each(cases)('%s', (_name, schema, text, expected) => {
    expect(call('p', text, { p: schema }).calls[0]?.arguments.p).toStrictEqual(expected);
  });

  test('a local reference, through a cycle', () => {
    const defs = {
      Money: { anyOf: [{ $ref: '#/$defs/Loop' }, { type: 'integer' }] },
      Loop: { $ref: '#/$defs/Money' },
    };
    const read = call('p', '12', { p: { $ref: '#/$defs/Money' } }, { $defs: defs });
    expect(read.calls[0]?.arguments).toEqual({ p: 12 });
  });

  test('a reference to nothing is a string', () => {
    expect(call('p', '12', { p: { $ref: '#/$defs/None%' } }).calls[0]?.arguments).toEqual({ p: '12' });
  });

  test('parameters named like object internals stay parameters', () => {
    const read = call('__proto__', '1', { constructor: { type: 'integer' } });
    expect(Object.entries(read.calls[0]?.arguments ?? {})).toEqual([['__proto__', '1']]);
  });
});

describe('problems', () => {
  test.each([
    ['integer', { type: 'integer' }, '9007199254740993'],
    ['number', { type: 'number' }, '9007199254740993'],
    ['inside an object', { type: 'object' }, '{"id": 9007199254740993}'],
    ['inside an array', { type: 'array' }, '[[-9007199254740993]]'],
  ] as const)('an integer beyond 2^53 is never rounded: %s', (_name, schema, text) => {
    const read = call('p', text, { p: schema });
    expect(read.calls[0]?.arguments.p).toBe(text);
    expect(read.problems).toEqual([{ kind: 'integer_range', call: 0, parameter: 'p', text }]);
    expect(problemText(read.problems[0]!)).toContain('parameter "p"');
  });

  test('digits in a string are no integer', () => {
    const read = call('p', '{"id": "9007199254740993", "x": 1e300}', { p: { type: 'object' } });
    expect(read.problems).toEqual([]);
    expect(read.calls[0]?.arguments.p).toEqual({ id: '9007199254740993', x: 1e300 });
  });

  test('each unread piece is named', () => {
    expect(format.interpret('still thinking', []).problems).toEqual([{ kind: 'unclosed_reasoning' }]);
    expect(format.interpret('</think><tool_call>{"name":1}</tool_call>', []).problems).toEqual([
      { kind: 'unreadable_call', text: '{"name":1}' },
    ]);
    expect(format.interpret('</think><function=f><parameter=a>1</function>', []).problems).toEqual([
      { kind: 'unclosed_parameter', call: 0, parameter: 'a' },
    ]);
  });

  test('with no call, no visible text is lost', () => {
    // As the engine does it: what stands behind the empty call comes first.
    expect(format.interpret('</think>a <tool_call>\n</tool_call> b <DONE>', []).content).toBe('b <DONE>a');
  });
});

test('never throws, and keeps what it reads apart', () => {
  const piece = fc.constantFrom(
    ...[
      '<think>',
      '</think>',
      '<tool_call>',
      '</tool_call>',
      '<function=',
      'f>',
      '</function>',
      '<parameter=',
    ],
    ...[
      'p>',
      '</parameter>',
      '<',
      '>',
      '\n',
      ' ',
      '1',
      '{"a":',
      '}',
      '<|im_end|>',
      '\u0000',
      '\ud800',
      '_',
      'é',
    ],
  );
  const tools = [{ name: 'f', inputSchema: { properties: { p: { type: ['integer', 'object'] } } } }];
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const read = format.interpret(pieces.join(''), tools);
      for (const problem of read.problems) expect(problemText(problem)).not.toBe('');
      for (const written of read.calls) expect(written.name.trim()).toBe(written.name);
      expect(JSON.parse(JSON.stringify(read.calls))).toEqual(read.calls);
    }),
    { numRuns: 300 },
  );
});

describe('qwen3_xml_plain: the prompt has closed the reasoning', () => {
  const plain = outputFormat('qwen3_xml_plain');

  test('text is the answer, not reasoning', () => {
    const read = { reasoning: '', content: 'Hello', calls: [], problems: [] };
    expect(plain.interpret('Hello', [])).toEqual(read);
    expect(plain.interpret('Hello</think><|im_end|>', [])).toEqual(read);
  });

  test('calls are read as ever', () => {
    const written =
      'Look.\n\n<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>';
    expect(plain.interpret(written, [])).toMatchObject({
      reasoning: '',
      content: 'Look.',
      calls: [{ name: 'f', arguments: { a: 'x' } }],
      problems: [],
    });
  });
});
