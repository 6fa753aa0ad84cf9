/** One ThinkingBox session over plain MCP: reserved tools, and the tools that the agent may see. */
import { Fault } from '../../core/faults.js';
import type { Json, JsonObject, ToolSpec } from '../../core/message.js';
import type { ToolSession } from '../../core/sandbox.js';
import type { CaseServer, LoadedCase, ShownTool } from './protocol.js';
import { describeArguments, plainSchema } from './schemas.js';

const INIT = '__reserved__init';
/** Of servers that `serve.py` runs: the same with the start state as text, so that no number changes on its way. */
const INIT_TEXT = '__reserved__init_text';
const TEARDOWN = '__reserved__teardown';
const EFFECTS = '__reserved__geteffects';
/** Of official systems that `serve.py` runs: state and hash, compared with nothing. */
const STATE = '__reserved__state';
/** A reserved call builds a database of a few hundred rows; it takes milliseconds unless something is wrong. */
const RESERVED_TIMEOUT_MS = 60_000;

export type ListedTool = ToolSpec & { readonly server: string };

/** By server, the text that it answered. */
export type SaidBy = Readonly<Record<string, string>>;

/** Sets the start state of every server, in the scenario's order. Returns what each said. Throws `Fault('suite' | 'sandbox')`. */
export async function initialise(
  servers: readonly CaseServer[],
  listed: readonly ListedTool[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<SaidBy> {
  const said: Record<string, string> = {};
  for (const { name, config } of servers) {
    said[name] = '{}';
    if (!has(listed, name, INIT)) continue;
    const [tool, argument] = has(listed, name, INIT_TEXT)
      ? [INIT_TEXT, { config }]
      : [INIT, { config: JSON.parse(config) as JsonObject }];
    const exact = tool === INIT ? `{"config": ${config}}` : undefined;
    const options = { signal, timeoutMs: RESERVED_TIMEOUT_MS, ...(exact === undefined ? {} : { exact }) };
    const { text, isError } = await tools.call(name, tool, argument, options);
    const value = jsonObject(text);
    const fine = !isError && (value?.status === 'ok' || (value && Object.keys(value).length === 0));
    if (!fine) throw new Fault('suite', `server "${name}" refused its start state: ${text.slice(0, 2_000)}`);
    said[name] = text;
  }
  return said;
}

/** The calls of a case's history, which bring the servers to where it ends. An error that a tool answers is no fault. */
export async function playHistory(
  { servers, historyCalls }: Pick<LoadedCase, 'servers' | 'historyCalls'>,
  listed: readonly ListedTool[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<void> {
  const owners = owned(servers, listed);
  for (const { name, arguments: args, argumentsText: exact } of historyCalls) {
    const server = owners.get(name)?.server;
    if (server === undefined) continue; // as the official runner, which warns and goes on
    await tools.call(server, name, args, { signal, timeoutMs: RESERVED_TIMEOUT_MS, exact });
  }
}

/** What every server reports as its state now, in the scenario's order. Throws `Fault('sandbox')` when one cannot. */
export async function readStates(
  servers: readonly CaseServer[],
  listed: readonly ListedTool[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<SaidBy> {
  const said: Record<string, string> = {};
  for (const { name, expected } of servers) {
    said[name] = '{}';
    // What is wanted is worked out aside: the server need not compare with it.
    const tool = expected !== null && has(listed, name, STATE) ? STATE : EFFECTS;
    if (!has(listed, name, tool)) continue;
    const { text, isError } = await tools.call(name, tool, {}, { signal, timeoutMs: RESERVED_TIMEOUT_MS });
    const value = jsonObject(text);
    if (isError || !value || value.status === 'error') {
      throw new Fault('sandbox', `server "${name}" cannot report its effects: ${text.slice(0, 2_000)}`, {
        code: 'effects',
      });
    }
    said[name] = text;
  }
  return said;
}

/** Asks every server to give back what it holds elsewhere, e.g. a collection in a search service. */
export async function tearDown(
  listed: readonly ListedTool[],
  tools: ToolSession,
  signal: AbortSignal,
): Promise<void> {
  const servers = listed.filter(({ name }) => name === TEARDOWN).map(({ server }) => server);
  const timeoutMs = RESERVED_TIMEOUT_MS;
  await Promise.allSettled(servers.map((server) => tools.call(server, TEARDOWN, {}, { signal, timeoutMs })));
}

/** Tools for the policy: the framework's own first, then the scenario's, in the order in which servers list them. */
export function shownTools(
  loaded: Pick<LoadedCase, 'servers' | 'tools' | 'builtinTools'>,
  listed: readonly ListedTool[],
): readonly ToolSpec[] {
  const found = owned(loaded.servers, listed);
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

/** Tools by name. Of two servers with a tool of one name, the later of the scenario owns it. */
function owned(
  servers: readonly CaseServer[],
  listed: readonly ListedTool[],
): ReadonlyMap<string, ListedTool> {
  const rank = new Map(servers.map(({ name }, index) => [name, index]));
  const found = new Map<string, ListedTool>();
  for (const tool of listed) {
    const other = found.get(tool.name);
    if (!other || (rank.get(tool.server) ?? 0) > (rank.get(other.server) ?? 0)) found.set(tool.name, tool);
  }
  return found;
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
