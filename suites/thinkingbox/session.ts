/** One ThinkingBox session over plain MCP: reserved tools, and the tools that the agent may see. */
import { Fault } from '../../core/faults.js';
import type { Json, JsonObject, ToolSpec } from '../../core/message.js';
import type { ToolSession } from '../../core/sandbox.js';
import type { Effects } from '../../core/suite.js';
import type { CaseServer, LoadedCase, ShownTool } from './protocol.js';
import { describeArguments, plainSchema } from './schemas.js';

const INIT = '__reserved__init';
/** Of servers that `serve.py` runs: the same with the start state as text, so that no number changes on its way. */
const INIT_TEXT = '__reserved__init_text';
const EFFECTS = '__reserved__geteffects';
/** A reserved call builds a database of a few hundred rows; it takes milliseconds unless something is wrong. */
const RESERVED_TIMEOUT_MS = 60_000;
/** What a server without the golden calls compares with itself: its start state, under misleading names. */
const MISLEADING = [
  'golden_db_state',
  'golden_db_hash',
  'diff',
  'rubrics',
  'rubrics_yesno',
  'initial_db_state',
];

type ListedTool = ToolSpec & { readonly server: string };

/** Sets the start state of every server, in the scenario's order. Returns what each said, by server. Throws `Fault('suite' | 'sandbox')`. */
export async function initialise(
  servers: readonly CaseServer[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<JsonObject> {
  const listed = await tools.list(signal);
  const results: Record<string, Json> = {};
  for (const { name, config } of servers) {
    if (!has(listed, name, INIT)) {
      results[name] = {};
      continue;
    }
    const [tool, argument] = has(listed, name, INIT_TEXT)
      ? [INIT_TEXT, config]
      : [INIT, JSON.parse(config) as JsonObject];
    const said = await tools.call(
      name,
      tool,
      { config: argument },
      { signal, timeoutMs: RESERVED_TIMEOUT_MS },
    );
    const value = jsonObject(said.text);
    const { status, ...rest } = value ?? { status: 'not a JSON object' };
    const fine = !said.isError && (status === 'ok' || (value && Object.keys(value).length === 0));
    if (!fine)
      throw new Fault('suite', `server "${name}" refused its start state: ${said.text.slice(0, 2_000)}`);
    results[name] = rest;
  }
  return results;
}

/** What every server reports as its state now, in the scenario's order. Throws `Fault('sandbox')` when one cannot. */
export async function readEffects(
  servers: readonly CaseServer[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<Effects> {
  const listed = await tools.list(signal);
  const effects: Record<string, Json> = {};
  for (const { name, expected } of servers) {
    if (!has(listed, name, EFFECTS)) {
      effects[name] = {};
      continue;
    }
    const said = await tools.call(name, EFFECTS, {}, { signal, timeoutMs: RESERVED_TIMEOUT_MS });
    const value = jsonObject(said.text);
    if (said.isError || !value || value.status === 'error') {
      throw new Fault('sandbox', `server "${name}" cannot report its effects: ${said.text.slice(0, 2_000)}`, {
        code: 'effects',
      });
    }
    effects[name] = expected ? without(value, MISLEADING) : value;
  }
  return effects;
}

/** Tools for the policy: the framework's own first, then the scenario's, in the order in which servers list them. */
export async function shownTools(
  loaded: LoadedCase,
  tools: ToolSession,
  signal: AbortSignal,
): Promise<readonly ToolSpec[]> {
  const listed = await tools.list(signal);
  const rank = new Map(loaded.servers.map(({ name }, index) => [name, index]));
  const found = new Map<string, ListedTool>();
  for (const tool of listed) {
    // Two servers with a tool of one name: the later server of the scenario owns it.
    const other = found.get(tool.name);
    if (!other || (rank.get(tool.server) ?? 0) > (rank.get(other.server) ?? 0)) found.set(tool.name, tool);
  }
  const shown = new Map(loaded.tools.map((tool) => [tool.name, tool]));
  const missing = loaded.tools.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    throw new Fault('suite', `tools that no server of the case has: ${missing.join(', ')}`);
  const builtin = loaded.builtinTools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema,
    ...(tool.is_end_turn ? { endsTurn: true } : {}),
  }));
  const own = [...found.values()].flatMap((tool) => {
    const override = shown.get(tool.name);
    return override ? [asShown(tool, override)] : [];
  });
  return [...builtin, ...own];
}

function asShown(tool: ListedTool, override: ShownTool): ToolSpec {
  const schema = plainSchema(tool.inputSchema);
  return {
    name: tool.name,
    server: tool.server,
    description: override.override_description ?? tool.description ?? '',
    inputSchema: override.override_arg_description
      ? describeArguments(schema, override.override_arg_description)
      : schema,
    ...(override.is_end_turn ? { endsTurn: true } : {}),
  };
}

function has(listed: readonly ListedTool[], server: string, name: string): boolean {
  return listed.some((tool) => tool.server === server && tool.name === name);
}

function jsonObject(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined; // the caller reports the text
  }
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}
