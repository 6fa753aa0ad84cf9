/** Driver `inline`: servers of trusted suites as objects in this process, over the linked in-memory transport. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Fault } from '../../core/faults.js';
import type { Sandbox, SandboxDriver, SandboxRequest, ServerSpec } from '../../core/sandbox.js';
import { McpSession } from './session.js';

export function createInlineDriver(): SandboxDriver {
  return { isolation: 'inline', create, reap: async () => false, living: async () => [] };
}

async function create(request: SandboxRequest): Promise<Sandbox> {
  const session = new McpSession();
  try {
    for (const spec of request.servers) {
      const transport = await start(spec);
      await session.connect(spec.name, { transport }, spec.startTimeoutMs, request.signal);
    }
  } catch (error) {
    await session.close();
    throw error;
  }
  return { name: request.name, tools: session, release: () => session.close() };
}

async function start(spec: ServerSpec): Promise<Transport> {
  if (!spec.inline) {
    throw new Fault('sandbox', `server "${spec.name}" cannot run inline: it has no \`inline\` form`, {
      retry: false,
    });
  }
  const transport = await spec.inline();
  if (!isTransport(transport)) {
    throw new Fault('sandbox', `server "${spec.name}": \`inline\` did not return an MCP transport`, {
      retry: false,
    });
  }
  return transport;
}

function isTransport(value: unknown): value is Transport {
  return (
    typeof value === 'object' && value !== null && 'start' in value && 'send' in value && 'close' in value
  );
}
