/**
 * MCP sessions to the servers of one sandbox, behind `ToolSession`.
 *
 * A server that answers is alive: its errors, whether tool errors or protocol errors, are results that the policy
 * reads. A session that is gone is a fault: pending and later calls throw `Fault('sandbox')`. Calls are never
 * sent twice.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ListToolsResultSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { withDeadline } from '../../core/deadline.js';
import { ExactJson } from '../../core/exact-json.js';
import { Fault } from '../../core/faults.js';
import type { JsonObject, ToolSpec } from '../../core/message.js';
import type { ToolResult, ToolSession } from '../../core/sandbox.js';

/** Longer than any deadline of ours: the client's own clock never speaks. */
const NEVER_MS = 2_000_000_000;
const LIST_TIMEOUT_MS = 30_000;
/** Pages of one server's tool list; a server that goes on for ever is broken. */
const MAX_PAGES = 100;

/** How the SDK says that a response has an id that is not waited for; a test sees to it that it still does. */
const UNKNOWN_REQUEST = /unknown message ID/i;
/** How long a server may take to answer that it is there. */
const PROBE_MS = 5_000;

/** We check no output schemas, and building the SDK's default validator costs more CPU than a whole session. */
const NO_VALIDATION = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }) as never,
};

/** One connected server; `lost` holds why the session ended, once it has. */
interface Connected {
  readonly client: Client;
  lost: string | undefined;
}

/** A transport and, where the server is a program, what it last said on standard error. */
export interface ServerLink {
  readonly transport: Transport;
  readonly lastWords?: () => string;
  /** True: messages are written as lines, `ExactJson` as its text. */
  readonly lines?: boolean;
  /** Which bound ended the session, where the driver knows: the code of the fault. */
  readonly lostBy?: () => LostBy | undefined;
  /** After a failed call: what is wrong with what the server runs in, undefined when nothing is. */
  readonly health?: () => Promise<string | undefined>;
}

/**
 * Ends of a session that are told apart from any other: the bounds of a guest, SIGKILL from outside (an engine that ends,
 * a person), and an engine that does not say.
 */
export type LostBy = 'out_of_memory' | 'output_limit' | 'killed' | 'engine_lost';

export class McpSession implements ToolSession {
  private readonly servers = new Map<string, Connected & { readonly link: ServerLink }>();

  /** Connects and initialises one server. Throws `Fault('sandbox', code: 'start_timeout' | 'start_failed')`. */
  async connect(name: string, link: ServerLink, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const client = new Client(
      { name: 'steadfast', version: '1' },
      { capabilities: {}, jsonSchemaValidator: NO_VALIDATION },
    );
    const server = { client, link, lost: undefined as string | undefined };
    client.onclose = () => {
      server.lost ??= 'the session was closed';
    };
    client.onerror = (error) => {
      if (!UNKNOWN_REQUEST.test(error.message)) return;
      // What it answers next may be another request's answer too: nothing from it can be trusted any more.
      server.lost ??= 'it answered a request that nobody waits for';
      void client.close();
    };
    const start = {
      ms: timeoutMs,
      what: `start of server "${name}"`,
      kind: 'sandbox',
      code: 'start_timeout',
    } as const;
    try {
      await withDeadline(signal, start, (inner) =>
        client.connect(link.transport, { signal: inner, timeout: NEVER_MS }),
      );
    } catch (error) {
      if (signal.aborted || error instanceof Fault) throw error;
      const message = `server "${name}" did not start: ${messageOf(error)}${lastWords(link)}`;
      throw new Fault('sandbox', message, { cause: error, code: link.lostBy?.() ?? 'start_failed' });
    }
    this.servers.set(name, server);
  }

  async list(signal: AbortSignal): Promise<readonly (ToolSpec & { readonly server: string })[]> {
    const lists = await Promise.all([...this.servers.keys()].map((name) => this.listOne(name, signal)));
    return lists.flat();
  }

  async call(
    server: string,
    tool: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly exact?: string },
  ): Promise<ToolResult> {
    const what = `tool call "${tool}" of server "${server}"`;
    const written = this.servers.get(server)?.link.lines === true && options.exact !== undefined;
    const sent = written ? new ExactJson(options.exact) : args;
    try {
      const result = await this.request(server, what, options.timeoutMs, options.signal, (client, signal) =>
        client.request(
          { method: 'tools/call', params: { name: tool, arguments: sent } },
          CallToolResultSchema,
          {
            signal,
            timeout: NEVER_MS,
          },
        ),
      );
      const read = toolResult(result);
      if (read.isError) await this.probe(server, options.signal);
      return read;
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      await this.probe(server, options.signal);
      // The server is there and refused this call: unknown tool, bad arguments, an exception of its own.
      return { text: error.message, isError: true };
    }
  }

  /**
   * A failed call is the agent's business only while the server and what it runs in are whole: throws
   * `Fault('sandbox')` when they are not.
   */
  private async probe(name: string, signal: AbortSignal): Promise<void> {
    const { link } = this.servers.get(name) ?? {};
    const clock = {
      ms: PROBE_MS,
      what: `server "${name}", asked after a failed call,`,
      kind: 'sandbox',
      code: 'unhealthy',
    } as const;
    const wrong = await withDeadline(signal, clock, async (inner) => {
      await this.request(name, 'ping after a failed call', 2 * PROBE_MS, inner, (client, within) =>
        client.ping({ signal: within, timeout: NEVER_MS }),
      ).catch((error: unknown) => {
        // A server that does not know the method is there.
        if (!(error instanceof McpError)) throw error;
      });
      return link?.health?.();
    });
    if (wrong === undefined) return;
    const code = link?.lostBy?.() ?? 'unhealthy';
    throw new Fault('sandbox', `server "${name}", after a failed call: ${wrong}`, { code });
  }

  /** Ends every session; never throws. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.servers.values()].map(({ client }) => client.close()));
  }

  private async listOne(name: string, signal: AbortSignal): Promise<(ToolSpec & { server: string })[]> {
    const specs: (ToolSpec & { server: string })[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const found = await this.request(
        name,
        `tool list of "${name}"`,
        LIST_TIMEOUT_MS,
        signal,
        (client, inner) =>
          client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
            signal: inner,
            timeout: NEVER_MS,
          }),
      );
      for (const { name: tool, description, inputSchema } of found.tools) {
        const schema = inputSchema as JsonObject;
        specs.push({
          server: name,
          name: tool,
          inputSchema: schema,
          ...(description === undefined ? {} : { description }),
        });
      }
      cursor = found.nextCursor;
      if (cursor === undefined) return specs;
    }
    throw new Fault('sandbox', `server "${name}" lists its tools on more than ${MAX_PAGES} pages`);
  }

  /** Throws what the server answered as `McpError`; everything else that can go wrong as a `Fault` or the abort reason. */
  private async request<T>(
    name: string,
    what: string,
    timeoutMs: number,
    signal: AbortSignal,
    send: (client: Client, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const server = this.servers.get(name);
    if (!server) throw new Fault('sandbox', `${what}: there is no such server`, { retry: false });
    if (server.lost === undefined) {
      try {
        return await withDeadline(signal, { ms: timeoutMs, what }, (inner) => send(server.client, inner));
      } catch (error) {
        if (signal.aborted || error instanceof Fault) throw error;
        if (error instanceof McpError && server.lost === undefined) throw error;
        server.lost ??= messageOf(error);
      }
    }
    const code = server.link.lostBy?.() ?? 'session_lost';
    throw new Fault('sandbox', `${what}: ${server.lost}${lastWords(server.link)}`, { code });
  }
}

function toolResult(result: CallToolResult): ToolResult {
  const parts = result.content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'resource' && 'text' in part.resource) return part.resource.text;
    return `[${part.type}]`;
  });
  const structured = result.structuredContent as JsonObject | undefined;
  const text = parts.length === 0 && structured ? JSON.stringify(structured) : parts.join('\n');
  return { text, isError: result.isError === true, ...(structured ? { structured } : {}) };
}

function lastWords(link: ServerLink): string {
  // A guest's bytes, which are read in terminals: it must not steer those.
  const words = link
    .lastWords?.()
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  return words ? `; its last words: ${words}` : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
