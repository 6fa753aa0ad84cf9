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
import { initialise, playHistory, readStates, shownTools } from '../../suites/thinkingbox/session.js';

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
  warm: null,
  env: {},
  cwd: null,
  config: '{}',
  expected,
});

describe('start state', () => {
  test('what servers say is kept as they said it', async () => {
    const { tools } = await sandbox({ a: '{}', b: '{"status": "ok", "room": 7.0}' });
    const listed = await tools.list(signal);
    expect(await initialise([caseServer('a'), caseServer('b')], listed, tools, signal)).toEqual({
      a: '{}',
      b: '{"status": "ok", "room": 7.0}',
    });
  });

  test.each(['{"status": "error", "message": "bad patch"}', '{"room": 7}', 'Error!', '[]'])(
    'a refusal is a fault of the suite that no second try can help: %s',
    async (said) => {
      const { tools } = await sandbox({ a: said });
      const refused = initialise([caseServer('a')], await tools.list(signal), tools, signal);
      await expect(refused).rejects.toMatchObject({ kind: 'suite', retry: false });
      await expect(refused).rejects.toThrow(said);
    },
  );
});

describe('effects', () => {
  const said = '{"result_db_hash": "x", "total": 300.0}';

  test('are kept as the server wrote them', async () => {
    const { tools } = await sandbox({ a: said });
    const listed = await tools.list(signal);
    expect(await readStates([caseServer('a', {})], listed, tools, signal)).toEqual({ a: said });
  });

  test.each(['{"status": "error"}', 'oops'])(
    'that cannot be read are a fault of the sandbox: %s',
    async (text) => {
      const { tools } = await sandbox({ a: text });
      const listed = await tools.list(signal);
      await expect(readStates([caseServer('a')], listed, tools, signal)).rejects.toMatchObject({
        kind: 'sandbox',
        code: 'effects',
      });
    },
  );
});

describe('history', () => {
  test('an unknown tool and an answer that is an error stop nothing', async () => {
    const { tools } = await sandbox({ a: 'Error!' });
    const call = (name: string) => ({ name, arguments: {}, argumentsText: '{}' });
    const loaded = { servers: [caseServer('a')], historyCalls: [call('look'), call('leap')] };
    await playHistory(loaded, await tools.list(signal), tools, signal);
  });
});

describe('visible tools', () => {
  const loaded = (
    names: readonly string[],
    servers: readonly string[],
  ): Pick<LoadedCase, 'servers' | 'tools' | 'builtinTools'> => ({
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
    const shown = shownTools(loaded(['look'], ['a', 'b']), await tools.list(signal));
    expect(shown).toMatchObject([
      { name: 'report', endsTurn: true },
      { name: 'look', server: 'b', description: 'from b' },
    ]);
    expect(shown[0]).not.toHaveProperty('server');
  });

  test('a tool that no server has is a fault of the suite', async () => {
    const { tools } = await sandbox({ a: '{}' });
    const listed = await tools.list(signal);
    expect(() => shownTools(loaded(['look', 'leap'], ['a']), listed)).toThrow(/no server .*: leap/);
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
