/** Types of the parameters of the tools that a turn was offered, each looked up once a turn. */
import type { JsonObject, ToolSpec } from '../message.js';
import { isObject, type JsonType, schemaTypes } from './schema-types.js';

/** What no schema speaks of is text. */
const TEXT: ReadonlySet<JsonType> = new Set(['string']);

interface Known {
  readonly schema: JsonObject;
  readonly properties: JsonObject;
  readonly types: Map<string, ReadonlySet<JsonType>>;
}

export class ToolTypes {
  private readonly tools = new Map<string, Known>();

  /** Of two tools with one name, the first counts. What is no tool, no schema or no properties is passed over. */
  constructor(tools: readonly ToolSpec[]) {
    for (const tool of tools) {
      if (!isObject(tool) || this.tools.has(tool.name)) continue;
      const schema = isObject(tool.inputSchema) ? tool.inputSchema : {};
      const properties = isObject(schema.properties) ? schema.properties : {};
      this.tools.set(tool.name, { schema, properties, types: new Map() });
    }
  }

  of(tool: string, parameter: string): ReadonlySet<JsonType> {
    const known = this.tools.get(tool);
    if (!known || !Object.hasOwn(known.properties, parameter)) return TEXT;
    const types = known.types.get(parameter) ?? schemaTypes(known.properties[parameter], known.schema);
    known.types.set(parameter, types);
    return types;
  }
}
