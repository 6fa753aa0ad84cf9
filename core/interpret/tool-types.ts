/** Types of the parameters of the tools that a turn was offered, each looked up once a turn. */
import { isObject, type JsonObject, type ToolSpec } from '../message.js';
import { type JsonType, schemaTypes } from './schema-types.js';

/** What no schema speaks of is text. */
const TEXT: ReadonlySet<JsonType> = new Set(['string']);

interface Known {
  readonly schema: JsonObject;
  readonly properties: JsonObject;
  readonly types: Map<string, ReadonlySet<JsonType>>;
}

export class ToolTypes {
  private readonly called = new Map<string, Known | undefined>();

  constructor(private readonly tools: readonly ToolSpec[]) {}

  of(tool: string, parameter: string): ReadonlySet<JsonType> {
    if (!this.called.has(tool)) this.called.set(tool, knownTool(this.tools, tool));
    const known = this.called.get(tool);
    if (!known || !Object.hasOwn(known.properties, parameter)) return TEXT;
    const types = known.types.get(parameter) ?? schemaTypes(known.properties[parameter], known.schema);
    known.types.set(parameter, types);
    return types;
  }
}

/** Of two tools with one name, the first counts. What is no tool, no schema or no properties is passed over. */
function knownTool(tools: readonly ToolSpec[], name: string): Known | undefined {
  const tool = tools.find((candidate) => isObject(candidate) && candidate.name === name);
  if (!tool) return undefined;
  const schema = isObject(tool.inputSchema) ? tool.inputSchema : {};
  return { schema, properties: isObject(schema.properties) ? schema.properties : {}, types: new Map() };
}
