/** Tool schemas as the official agent sees them: references resolved, generated titles gone. */
import { Fault } from '../../core/faults.js';
import { isObject, type Json, type JsonObject } from '../../core/message.js';

/** A copy without `$ref`, `$defs` and titles. Throws `Fault('suite')` for a reference that is circular or leads nowhere. */
export function plainSchema(schema: JsonObject): JsonObject {
  const { $defs: _, title: __, ...resolved } = resolve(schema, schema, []) as JsonObject;
  const { properties } = resolved;
  return isObject(properties) ? { ...resolved, properties: mapValues(properties, withoutTitle) } : resolved;
}

/** Descriptions of arguments replaced; unknown arguments are left alone, as the official client does. */
export function describeArguments(
  schema: JsonObject,
  descriptions: Readonly<Record<string, string>>,
): JsonObject {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const described = Object.entries(properties).map(([name, property]) => {
    const description = descriptions[name];
    return [name, description === undefined || !isObject(property) ? property : { ...property, description }];
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

function resolve(node: Json, root: JsonObject, within: readonly string[]): Json {
  if (Array.isArray(node)) return node.map((item: Json) => resolve(item, root, within));
  if (!isObject(node)) return node;
  const reference = node.$ref;
  if (typeof reference !== 'string') return mapValues(node, (value) => resolve(value, root, within));
  if (within.includes(reference))
    throw new Fault('suite', `tool schema with a circular reference ${reference}`);
  return resolve(target(reference, root), root, [...within, reference]);
}

/** A JSON pointer into the schema itself: `#/$defs/Name`. */
function target(reference: string, root: JsonObject): Json {
  let node: Json | undefined = root;
  for (const part of reference.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    node = isObject(node) ? node[key] : undefined;
  }
  if (!reference.startsWith('#/') || node === undefined) {
    throw new Fault('suite', `tool schema with a reference that leads nowhere: ${reference}`);
  }
  return node;
}

function withoutTitle(property: Json): Json {
  if (!isObject(property)) return property;
  const { title: _, ...rest } = property;
  return rest;
}

function mapValues(object: JsonObject, map: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
