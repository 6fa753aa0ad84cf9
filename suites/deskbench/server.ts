/**
 * The MCP server of one desk. The same code answers over the linked in-memory transport (`inline`) and over stdio
 * (`process`). It is the low-level `Server` with schemas made once per process: a session must be cheap.
 *
 * Reserved tools, hidden from policies: `__reserved__init {state}` sets all tables, `__reserved__geteffects {}`
 * returns them as JSON text.
 */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import type { JsonObject } from '../../core/message.js';
import { DOMAINS, type DomainName, toolOf } from './world/domains.js';
import type { Tables } from './world/tables.js';
import { argumentSchema, checkArguments, DeskError } from './world/tool.js';

export const INIT_TOOL = '__reserved__init';
export const EFFECTS_TOOL = '__reserved__geteffects';
/** Tools with this prefix belong to the harness. */
export const RESERVED_PREFIX = '__reserved__';

const stateSchema = z.record(
  z.string(),
  z.record(z.string(), z.record(z.string(), z.union([z.string(), z.number()]))),
);

const reservedTools: readonly Tool[] = [
  {
    name: INIT_TOOL,
    description: 'Set all tables.',
    inputSchema: { type: 'object', properties: { state: { type: 'object' } }, required: ['state'] },
  },
  {
    name: EFFECTS_TOOL,
    description: 'Return all tables as JSON.',
    inputSchema: { type: 'object', properties: {} },
  },
];

const listings = new Map<DomainName, { tools: Tool[] }>();

/** `tools/list` of a desk, made on first use. */
function listing(domain: DomainName): { tools: Tool[] } {
  let made = listings.get(domain);
  if (!made) {
    const tools = DOMAINS[domain].map(
      (tool): Tool => ({
        name: tool.name,
        description: tool.description,
        inputSchema: argumentSchema(tool) as Tool['inputSchema'],
      }),
    );
    made = { tools: [...tools, ...reservedTools] };
    listings.set(domain, made);
  }
  return made;
}

// Building a validator compiles a meta-schema; this server never elicits, so one idle instance serves all sessions.
let validator: AjvJsonSchemaValidator | undefined;

/** A server with empty tables, not yet connected. */
export function createDeskServer(domain: DomainName): Server {
  let tables: Tables = {};
  validator ??= new AjvJsonSchemaValidator();
  const server = new Server(
    { name: domain, version: '1.0.0' },
    { capabilities: { tools: {} }, jsonSchemaValidator: validator },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => listing(domain));
  server.setRequestHandler(CallToolRequestSchema, (request): CallToolResult => {
    const { name } = request.params;
    const args = (request.params.arguments ?? {}) as JsonObject;
    if (name === INIT_TOOL) {
      const state = stateSchema.safeParse(args.state);
      if (!state.success) {
        throw new McpError(ErrorCode.InvalidParams, `${INIT_TOOL}: state: ${z.prettifyError(state.error)}`);
      }
      tables = state.data;
      return text('ok');
    }
    if (name === EFFECTS_TOOL) return text(JSON.stringify(tables));
    const answer = answerCall(domain, tables, name, args);
    return answer.isError ? { ...text(answer.text), isError: true } : text(answer.text);
  });
  return server;
}

/** What a tool answers; a write changes `tables`. An error is a text for the agent, and then nothing has changed. */
export function answerCall(
  domain: DomainName,
  tables: Tables,
  name: string,
  args: JsonObject,
): { readonly text: string; readonly isError: boolean } {
  const tool = toolOf(domain, name);
  if (!tool) return { text: 'no such tool .', isError: true };
  try {
    return { text: tool.run(tables, checkArguments(tool, args)), isError: false };
  } catch (error) {
    if (error instanceof DeskError) return { text: error.message, isError: true };
    throw error;
  }
}

function text(content: string): CallToolResult {
  return { content: [{ type: 'text', text: content }] };
}

/** A connected server; returns the client's end of the transport. Closing that end closes the server. */
export async function connectInline(domain: DomainName): Promise<Transport> {
  const [client, server] = InMemoryTransport.createLinkedPair();
  await createDeskServer(domain).connect(server);
  return client;
}
