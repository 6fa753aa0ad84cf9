/** Tools as suites and servers really describe them, with every way of saying a type, and a few that are malformed. */
import type { JsonObject } from '../../core/message.js';

/** OpenAI's form, as a serving engine gets them. */
export interface WireTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: JsonObject;
  };
}

function tool(name: string, properties: JsonObject, rest: JsonObject = {}): WireTool {
  return {
    type: 'function',
    function: { name, description: `${name}.`, parameters: { type: 'object', properties, ...rest } },
  };
}

const nullable = (type: string): JsonObject => ({ anyOf: [{ type }, { type: 'null' }], default: null });

export const TOOLS: readonly WireTool[] = [
  tool(
    'search_flights',
    {
      origin: { type: 'string', description: 'IATA code' },
      destination: { type: 'string' },
      date: { type: 'string', format: 'date' },
      passengers: { type: 'integer', minimum: 1 },
      max_price: nullable('number'),
      direct: { type: 'boolean', default: false },
    },
    { required: ['origin', 'destination'] },
  ),
  tool('book_reservation', {
    user_id: { type: 'string' },
    flights: {
      type: 'array',
      items: { type: 'object', properties: { number: { type: 'string' }, seats: { type: 'integer' } } },
    },
    payment: { type: 'object', properties: { id: { type: 'string' }, amount: { type: 'number' } } },
    bags: { type: ['integer', 'null'] },
    insurance: { enum: ['yes', 'no'] },
  }),
  tool('update_ticket', {
    id: { type: 'integer' },
    priority: { enum: [1, 2, 3] },
    status: { type: 'string', enum: ['open', 'closed'] },
    assignee: nullable('string'),
    labels: nullable('array'),
    fields: { oneOf: [{ type: 'object' }, { type: 'null' }] },
    mixed: { enum: ['auto', 0, null, true, 1.5] },
  }),
  tool('convert', {
    value: { type: ['number', 'string'] },
    flag: { type: ['boolean', 'integer'] },
    strict: { allOf: [{ type: 'integer' }, { minimum: 0 }] },
    either: { anyOf: [{ anyOf: [{ type: 'boolean' }] }, { oneOf: [{ type: 'array' }] }] },
    untyped: {},
    described: { description: 'no type at all' },
    nothing: { type: 'null' },
  }),
  tool('spelled', {
    a: { type: 'int' },
    b: { type: 'Float' },
    c: { type: ' BOOL ' },
    d: { type: 'dict' },
    e: { type: 'list' },
    f: { type: 'str' },
    g: { type: 'any' },
    h: { type: [] },
    i: { type: 'array', items: { type: 'integer' } },
  }),
  tool(
    'referring',
    {
      money: { $ref: '#/$defs/Money' },
      kind: { const: 3 },
      maybe: { type: 'integer', nullable: true },
      loop: { $ref: '#/$defs/Loop' },
      plain: { type: 'integer' },
    },
    {
      $defs: {
        Money: { anyOf: [{ type: 'integer' }, { $ref: '#/$defs/Amount' }] },
        Amount: { type: 'object', properties: { cents: { type: 'integer' } } },
        Loop: { anyOf: [{ $ref: '#/$defs/Loop' }, { type: 'boolean' }] },
      },
    },
  ),
  tool('odd', {
    boolean_schema: true,
    none: null,
    list: [1],
    'with space': { type: 'integer' },
    '': { type: 'integer' },
  }),
  tool('get_time', {}),
  { type: 'function', function: { name: 'no_parameters' } },
  { type: 'function', function: { name: 'empty_schema', parameters: {} } },
];

/** Words of a schema that the serving engine does not read. */
const UNREAD_WORDS = ['$ref', 'const', 'nullable'];

/** True when the parameter's schema speaks in words that the serving engine does not read. */
export function saysMore(tools: readonly WireTool[], name: string, parameter: string): boolean {
  const schema = tools.find((candidate) => candidate.function.name === name)?.function.parameters;
  const text = JSON.stringify((schema?.properties as JsonObject | undefined)?.[parameter] ?? {});
  return UNREAD_WORDS.some((word) => text.includes(`"${word}":`));
}
