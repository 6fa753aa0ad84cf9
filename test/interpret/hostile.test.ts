/** Texts and schemas that are too long, too deep or too strange: read to the end, never thrown at. */
import { describe, expect, test } from 'vitest';
import { outputFormat } from '../../core/interpret/interpret.js';
import { MAX_JSON_DEPTH, memberTexts, readJson } from '../../core/interpret/json-text.js';
import { schemaTypes } from '../../core/interpret/schema-types.js';
import type { Json, JsonObject, ToolSpec } from '../../core/message.js';
import { HOSTILE_NAMES, hostileText } from '../fuzz/hostile-texts.js';

const LONG = 1_000_000;
const properties = { p: { type: ['integer', 'number', 'object', 'null'] } };
const tools: readonly ToolSpec[] = [{ name: 'f', inputSchema: { type: 'object', properties } }];
const inValue = (value: string): string => `</think><function=f><parameter=p>${value}</parameter></function>`;
describe.each(['qwen3_xml', 'hermes'])('%s reads a megabyte of', (name) => {
  test.each(HOSTILE_NAMES)('%s', (what) => {
    const read = outputFormat(name).interpret(hostileText(what, LONG), tools);
    expect(JSON.parse(JSON.stringify(read.calls))).toHaveLength(read.calls.length);
  });
});

test('a number so long that a pattern would run out of stack', () => {
  const text = '1_'.repeat(10 * LONG);
  expect(outputFormat('qwen3_xml').interpret(inValue(text), tools).calls[0]?.arguments.p).toHaveLength(
    text.length,
  );
});

describe('schemas', () => {
  const nested = (depth: number, wrap: (inner: Json) => Json, core: Json): Json => {
    let schema = core;
    for (let level = 0; level < depth; level += 1) schema = wrap(schema);
    return schema;
  };

  test('a hundred thousand branches deep', () => {
    const schema = nested(100_000, (inner) => ({ anyOf: [inner] }), { type: 'integer' });
    expect([...schemaTypes(schema, schema)]).toEqual(['integer']);
  });

  test('a chain of references, each twice, is looked at once', () => {
    const definitions = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, at) => {
        const next = { $ref: `#/$defs/d${at + 1}` };
        return [`d${at}`, { anyOf: [next, next] }];
      }),
    );
    const root: JsonObject = { $defs: { ...definitions, d2000: { type: 'boolean' } } };
    expect([...schemaTypes({ $ref: '#/$defs/d0' }, root)]).toEqual(['boolean']);
  });

  test.each<readonly [string, Json, readonly string[]]>([
    ['a circle says nothing', { $ref: '#' }, ['string']],
    ['true allows text', true, ['string']],
    ['null is no schema', null, ['string']],
    ['a list is no schema', [{ type: 'integer' }], ['string']],
    ['a type that is an object', { type: { type: 'integer' } }, ['string']],
    ['a type list with others in it', { type: ['integer', 1, null, 'null'] }, ['integer', 'null']],
    ['branches that are no list', { anyOf: { type: 'integer' } }, ['string']],
    ['branches that are no schemas', { oneOf: [1, 'x', null] }, ['string']],
    ['an empty enum', { enum: [] }, ['string']],
    ['a constant null', { const: null }, ['null']],
    ['a reference that is no text', { $ref: 5 }, ['string']],
    ['a reference through a text', { $ref: '#/a/b', a: 'text' }, ['string']],
    ['a reference to what every object has', { $ref: '#/constructor' }, ['string']],
    ['a word of another case', { type: ' INTEGER ' }, ['integer']],
    ['a name of what every object has for a type', { type: 'constructor' }, ['other']],
  ])('%s', (_what, schema, expected) => {
    expect([...schemaTypes(schema, schema)].toSorted()).toEqual([...expected].toSorted());
  });

  test.each<readonly [string, unknown]>([
    ['no schema', undefined],
    ['null', null],
    ['text', 'integer'],
    ['a list', []],
    ['properties that are a list', { properties: [{ type: 'integer' }] }],
    ['properties that are text', { properties: 'p' }],
    ['a property that is text', { properties: { p: 'integer' } }],
  ])('a tool with %s takes text', (_what, inputSchema) => {
    const odd = [{ name: 'f', inputSchema: inputSchema as JsonObject }];
    expect(outputFormat('qwen3_xml').interpret(inValue('5'), odd).calls[0]?.arguments).toEqual({ p: '5' });
  });
});

describe('JSON as text', () => {
  const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  test('depth has a bound', () => {
    expect(readJson(deep(MAX_JSON_DEPTH))).toBeDefined();
    expect(readJson(deep(MAX_JSON_DEPTH + 1))).toBeUndefined();
    expect(readJson(`"${'['.repeat(10_000)}"`)?.value).toHaveLength(10_000);
  });

  test.each([
    ['9007199254740991', false],
    ['-9007199254740991', false],
    ['9007199254740992', true],
    ['[1, -9007199254740993]', true],
    ['{"a": {"b": 123456789012345678901234567890}}', true],
    ['9007199254740993.5', false],
    ['1e300', false],
    ['12345678901234567890e-10', false],
    ['"9007199254740993"', false],
    ['{"9007199254740993": "\\"9007199254740993"}', false],
  ])('%s holds an integer beyond 2^53: %s', (text, unsafe) => {
    expect(readJson(text)?.unsafe).toBe(unsafe);
  });

  test('members are taken apart as they were written', () => {
    const text = ' { "a\\"b" : [1, {"c": "}"}] , "d":"x,y" ,"e":{}, "d" : -1.50 } ';
    expect(memberTexts(text)).toEqual([
      ['a"b', '[1, {"c": "}"}]'],
      ['d', '"x,y"'],
      ['e', '{}'],
      ['d', '-1.50'],
    ]);
    expect(memberTexts('{}')).toEqual([]);
  });
});
