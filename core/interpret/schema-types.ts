/** The JSON types that a schema allows, as far as its words say so. Nothing known counts as `string`. */
import type { Json, JsonObject } from '../message.js';

/** `other`: a word that no JSON schema knows; such text is read as JSON where it is JSON. */
export type JsonType = 'other' | 'null' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'string';

/** Spellings of types that occur in hand-written tool schemas. */
const SPELLINGS: Readonly<Record<string, JsonType>> = {
  null: 'null',
  ...spelled('integer', 'integer int int32 int64 uint uint32 uint64 long short unsigned'),
  ...spelled('number', 'number float float32 float64 double'),
  ...spelled('boolean', 'boolean bool'),
  ...spelled('object', 'object dict'),
  ...spelled('array', 'array arr list sequence'),
  ...spelled('string', 'string str text varchar char enum'),
};

const MAX_DEPTH = 16;

/**
 * Types allowed by `schema`: its `type` (word or list), the types of its `enum` values, and all branches of
 * `anyOf`, `oneOf`, `allOf` and local `$ref`s (against `root`, the tool's whole schema). Cycles end at depth 16.
 */
export function schemaTypes(schema: Json | undefined, root: JsonObject, depth = 0): ReadonlySet<JsonType> {
  const types = new Set<JsonType>();
  const join = (branch: Json | undefined): void => {
    for (const type of schemaTypes(branch, root, depth + 1)) types.add(type);
  };
  if (isObject(schema) && depth <= MAX_DEPTH) {
    for (const word of Array.isArray(schema.type) ? schema.type : [schema.type]) {
      if (typeof word === 'string') types.add(SPELLINGS[word.trim().toLowerCase()] ?? 'other');
    }
    if (schema.nullable === true) types.add('null');
    if (Array.isArray(schema.enum)) for (const value of schema.enum) types.add(typeOf(value));
    for (const field of ['anyOf', 'oneOf', 'allOf']) {
      const branches = schema[field];
      if (Array.isArray(branches)) branches.forEach(join);
    }
    if (typeof schema.$ref === 'string') join(resolve(schema.$ref, root));
  }
  if (types.size === 0) types.add('string');
  return types;
}

/** Target of a local reference (`#/$defs/Money`), or undefined. */
function resolve(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined;
  let at: Json | undefined = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign is a name, not an escape
  }
}

function typeOf(value: Json): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as 'boolean' | 'string' | 'object';
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function spelled(type: JsonType, words: string): Record<string, JsonType> {
  return Object.fromEntries(words.split(' ').map((word) => [word, type]));
}
