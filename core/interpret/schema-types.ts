/** The JSON types that a schema allows, as far as its words say so. Nothing known counts as `string`. */
import { isObject, type Json, type JsonObject } from '../message.js';

/** `other`: a word that no JSON schema knows; such text is read as JSON where it is JSON. */
export type JsonType = 'other' | 'null' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'string';

/** Spellings of types that occur in hand-written tool schemas. */
const SPELLINGS: ReadonlyMap<string, JsonType> = new Map([
  ['null', 'null'],
  ...spelled('integer', 'integer int int32 int64 uint uint32 uint64 long short unsigned'),
  ...spelled('number', 'number float float32 float64 double'),
  ...spelled('boolean', 'boolean bool'),
  ...spelled('object', 'object dict'),
  ...spelled('array', 'array arr list sequence'),
  ...spelled('string', 'string str text varchar char enum'),
]);

/**
 * Types allowed by `schema`: its `type` (word or list), those of its `enum` values and its `const`, `nullable`, and all
 * branches of `anyOf`, `oneOf`, `allOf` and local `$ref`s (against `root`, the tool's whole schema). A schema that says
 * nothing of this, and what is no schema, allows `string`. Each part is looked at once: cycles and depth cost nothing.
 */
export function schemaTypes(schema: Json | undefined, root: Json | undefined): ReadonlySet<JsonType> {
  const types = new Set<JsonType>();
  const seen = new Set<JsonObject>();
  const pending: (Json | undefined)[] = [schema];
  while (pending.length > 0) {
    const part = pending.pop();
    if (!isObject(part)) {
      types.add('string');
      continue;
    }
    if (seen.has(part)) continue;
    seen.add(part);
    const own = ownTypes(part);
    const branches = branchesOf(part, root);
    for (const type of own) types.add(type);
    for (const branch of branches) pending.push(branch);
    if (own.length + branches.length === 0) types.add('string');
  }
  if (types.size === 0) types.add('string');
  return types;
}

function ownTypes(schema: JsonObject): readonly JsonType[] {
  const words = Array.isArray(schema.type) ? schema.type : [schema.type];
  return [
    ...words
      .filter((word) => typeof word === 'string')
      .map((word) => SPELLINGS.get(word.trim().toLowerCase()) ?? 'other'),
    ...(schema.nullable === true ? (['null'] as const) : []),
    ...(Array.isArray(schema.enum) ? schema.enum.map(typeOf) : []),
    ...(Object.hasOwn(schema, 'const') ? [typeOf(schema.const!)] : []),
  ];
}

function branchesOf(schema: JsonObject, root: Json | undefined): readonly (Json | undefined)[] {
  const branches = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) =>
    Array.isArray(list) ? (list as Json[]) : [],
  );
  return typeof schema.$ref === 'string' ? [...branches, resolve(schema.$ref, root)] : branches;
}

/** Target of a local reference (`#/$defs/Money`), or undefined. */
function resolve(reference: string, root: Json | undefined): Json | undefined {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let at = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
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

function spelled(type: JsonType, words: string): [string, JsonType][] {
  return words.split(' ').map((word) => [word, type]);
}
