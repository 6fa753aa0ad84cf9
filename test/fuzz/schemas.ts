/** Schemas of every kind and none: words, branches, references in circles, and what is no schema at all. */
import type { Json, JsonObject } from '../../core/message.js';
import type { RandomStream } from '../../core/random.js';

const WORDS = [
  'string',
  'integer',
  'number',
  'boolean',
  'object',
  'array',
  'null',
  ' Int ',
  'dict',
  'money',
  '',
];
const REFERENCES = [
  '#',
  '#/$defs/A',
  '#/$defs/B',
  '#/definitions/A',
  '#/$defs/%',
  '#/$defs/a~1b',
  '#/anyOf/0',
  '#x',
  'x',
];
const GARBAGE: readonly Json[] = [
  null,
  true,
  false,
  0,
  1.5,
  'string',
  [],
  ['integer'],
  [[]],
  { type: { type: 'x' } },
];

export function randomSchema(random: RandomStream): Json {
  const root = schema(random, 4);
  if (typeof root !== 'object' || root === null || Array.isArray(root)) return root;
  const definitions = { A: schema(random, 3), B: schema(random, 3), 'a/b': schema(random, 1) };
  return { ...(root as JsonObject), $defs: definitions, definitions };
}

function schema(random: RandomStream, depth: number): Json {
  if (random.below(8) === 0) return any(random, GARBAGE);
  const said: Record<string, Json> = {};
  if (random.below(2) === 0) said.type = random.below(4) === 0 ? [word(random), word(random)] : word(random);
  if (random.below(12) === 0) said.type = any(random, GARBAGE);
  if (random.below(6) === 0) said.nullable = random.below(2) === 0;
  if (random.below(6) === 0)
    said.enum = random.below(6) === 0 ? any(random, GARBAGE) : [1, 'a', null, 2.5, true, {}, []];
  if (random.below(8) === 0) said.const = any(random, GARBAGE);
  if (random.below(4) === 0) said.$ref = any(random, REFERENCES);
  for (const branches of ['anyOf', 'oneOf', 'allOf']) {
    if (depth > 0 && random.below(4) === 0) {
      said[branches] =
        random.below(10) === 0
          ? any(random, GARBAGE)
          : [schema(random, depth - 1), schema(random, depth - 1)];
    }
  }
  return said;
}

function word(random: RandomStream): string {
  return any(random, WORDS);
}

function any<T>(random: RandomStream, items: readonly T[]): T {
  return items[random.below(items.length)]!;
}
