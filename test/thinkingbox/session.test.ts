/** Reserved calls and visible tools of a session, on a server of our own over real MCP. No checkout needed. */

import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import type { JsonObject } from '../../core/message.js';
import type { Sandbox, ServerSpec } from '../../core/sandbox.js';
import type { CaseServer, LoadedCase } from '../../suites/thinkingbox/protocol.js';
import { describeArguments, plainSchema } from '../../suites/thinkingbox/schemas.js';
import { initialise, readEffects, shownTools } from '../../suites/thinkingbox/session.js';

const { signal } = new AbortController();
const open: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.release();
});

/** Servers whose reserved tools answer `said`; each has a tool `look` too, whose description names the server. */
async function sandbox(said: Readonly<Record<string, string>>): Promise<Sandbox> {
  const servers = Object.entries(said).map(
    ([name, text]): ServerSpec => ({
      name,
      startTimeoutMs: 5_000,
      inline: async () => {
        const server = new McpServer({ name, version: '1' });
        const answer = { content: [{ type: 'text' as const, text }] };
        server.registerTool('__reserved__init', { inputSchema: { config: z.any() } }, async () => answer);
        server.registerTool('__reserved__geteffects', {}, async () => answer);
        server.registerTool('look', { description: `from ${name}` }, async () => answer);
        const [client, own] = InMemoryTransport.createLinkedPair();
        await server.connect(own);
        return client;
      },
    }),
  );
  const made = await createInlineDriver().create({ name: 'session', servers, signal });
  open.push(made);
  return made;
}

const caseServer = (name: string, expected: JsonObject | null = null): CaseServer => ({
  name,
  command: ['python'],
  env: {},
  cwd: null,
  config: '{}',
  expected,
});

describe('start state', () => {
  test('what servers say beside their status is kept', async () => {
    const { tools } = await sandbox({ a: '{}', b: '{"status": "ok", "room": 7}' });
    expect(await initialise([caseServer('a'), caseServer('b')], tools, signal)).toEqual({
      a: {},
      b: { room: 7 },
    });
  });

  test.each(['{"status": "error", "message": "bad patch"}', '{"room": 7}', 'Error!', '[]'])(
    'a refusal is a fault of the suite that no second try can help: %s',
    async (said) => {
      const { tools } = await sandbox({ a: said });
      const refused = initialise([caseServer('a')], tools, signal);
      await expect(refused).rejects.toMatchObject({ kind: 'suite', retry: false });
      await expect(refused).rejects.toThrow(said);
    },
  );
});

describe('effects', () => {
  const said = '{"result_db_hash": "x", "golden_db_hash": "y", "diff": [], "initial_db_state": {}}';

  test('of a server that was not told what is wanted hold nothing that looks as if it was', async () => {
    const { tools } = await sandbox({ a: said });
    expect(await readEffects([caseServer('a', {})], tools, signal)).toEqual({ a: { result_db_hash: 'x' } });
  });

  test('of a server that judges itself are kept whole', async () => {
    const { tools } = await sandbox({ a: said });
    expect(await readEffects([caseServer('a')], tools, signal)).toEqual({ a: JSON.parse(said) });
  });

  test.each(['{"status": "error"}', 'oops'])(
    'that cannot be read are a fault of the sandbox: %s',
    async (text) => {
      const { tools } = await sandbox({ a: text });
      await expect(readEffects([caseServer('a')], tools, signal)).rejects.toMatchObject({
        kind: 'sandbox',
        code: 'effects',
      });
    },
  );
});

describe('visible tools', () => {
  const loaded = (names: readonly string[], servers: readonly string[]): LoadedCase => ({
    systemMessages: [],
    opening: '',
    context: '',
    maxUserTurns: 1,
    maxAgentActions: 1,
    doneMarker: '<DONE>',
    unsupported: [],
    servers: servers.map((name) => caseServer(name)),
    builtinTools: [{ name: 'report', description: 'r', input_schema: { type: 'object' }, is_end_turn: true }],
    tools: names.map((name) => ({
      name,
      override_description: null,
      override_arg_description: null,
      is_end_turn: false,
    })),
  });

  test('the framework’s own first; of two servers with one name the later owns it; nothing reserved', async () => {
    const { tools } = await sandbox({ a: '{}', b: '{}' });
    const shown = await shownTools(loaded(['look'], ['a', 'b']), tools, signal);
    expect(shown).toMatchObject([
      { name: 'report', endsTurn: true },
      { name: 'look', server: 'b', description: 'from b' },
    ]);
    expect(shown[0]).not.toHaveProperty('server');
  });

  test('a tool that no server has is a fault of the suite', async () => {
    const { tools } = await sandbox({ a: '{}' });
    await expect(shownTools(loaded(['look', 'leap'], ['a']), tools, signal)).rejects.toThrow(
      /no server .*: leap/,
    );
  });
});

describe('tool schemas', () => {
  test('references are resolved and generated titles go; a property called title stays', () => {
    const schema = {
      title: 'PutArguments',
      type: 'object',
      properties: {
        title: { title: 'Title', type: 'string' },
        place: { $ref: '#/$defs/Place' },
        many: { type: 'array', items: { $ref: '#/$defs/Place' } },
      },
      $defs: {
        Place: { title: 'Place', type: 'object', properties: { shelf: { title: 'Shelf', type: 'string' } } },
      },
    };
    const place = { type: 'object', properties: { shelf: { title: 'Shelf', type: 'string' } } };
    expect(plainSchema(schema)).toEqual({
      type: 'object',
      properties: {
        title: { type: 'string' },
        place,
        many: { type: 'array', items: { title: 'Place', ...place } },
      },
    });
  });

  test('circular references and references to nowhere are faults of the suite', () => {
    const circular = {
      properties: { a: { $ref: '#/$defs/A' } },
      $defs: { A: { items: { $ref: '#/$defs/A' } } },
    };
    expect(() => plainSchema(circular)).toThrow(/circular reference #\/\$defs\/A/);
    expect(() => plainSchema({ properties: { a: { $ref: '#/$defs/B' } } })).toThrow(
      /leads nowhere: #\/\$defs\/B/,
    );
    expect(() => plainSchema({ items: { $ref: 'other.json' } })).toThrow(/leads nowhere/);
  });

  test('described arguments', () => {
    const schema = { properties: { a: { type: 'string', description: 'old' }, b: { type: 'number' } } };
    expect(describeArguments(schema, { a: 'new', c: 'none' })).toEqual({
      properties: { a: { type: 'string', description: 'new' }, b: { type: 'number' } },
    });
  });
});
