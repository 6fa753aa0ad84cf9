/**
 * Qwen 3's real tokenizer and chat template on a real vLLM, with weights that say nothing sensible: prompts with tools
 * are rendered to the same ids, and noise is read as the same reasoning, content and calls. Skipped without a vLLM.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkParity } from '../../activities/policy/parity.js';
import type { ToolSpec } from '../../core/message.js';
import type { Renderer } from '../../core/render/renderer.js';
import { seedOf } from '../../core/seed.js';
import { modelFolder } from '../render-parity/models.js';
import { serveTinyQwen3, type VllmServer, vllmPython } from './engine.js';
import { type Ask, askChat, askTokens, rendererOf } from './turns.js';

const TOOLS: readonly ToolSpec[] = [
  {
    name: 'search_flights',
    description: 'Finds flights <one way> & "return"; prices in €, e.g. 1.0 or 1e-7.',
    inputSchema: {
      type: 'object',
      properties: {
        from: { type: 'string', description: "The airport's code, über \u2028 all" },
        max_price: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
        legs: { type: 'array', items: { $ref: '#/$defs/Leg' } },
        cabin: { enum: ['economy', 'business', null] },
      },
      required: ['from'],
      $defs: { Leg: { type: 'object', properties: { to: { type: 'string' }, day: { type: 'integer' } } } },
    },
  },
  { name: 'noop', description: '', inputSchema: { type: 'object', properties: {} } },
];

const USERS: readonly string[] = [
  'Hello.',
  'Zürich, 漢字, עברית, 🙂👩‍👩‍👧, e\u0301 and \u00e9',
  '{"a": [1, null, "x\\n"]}\n\n  indented\n',
  '  blanks around  ',
  "don't <b>bold</b> & 'quotes' \\ backslash",
  'a\u0000b\ufeffc\u200bd',
];

const python = vllmPython();
const signal = new AbortController().signal;

describe.skipIf(python === undefined)('Qwen 3 on vLLM', () => {
  let server: VllmServer;
  let renderer: Renderer;

  beforeAll(async () => {
    server = await serveTinyQwen3(python!, modelFolder('qwen3'));
    renderer = await rendererOf(server);
  }, 320_000);
  afterAll(() => server?.stop());

  test('both sides read prompts as the same tokens', async () => {
    const endpoint = { kind: 'policy', baseUrl: server.url, model: server.model, apiKeyEnv: null } as const;
    expect(await checkParity(endpoint, renderer, signal)).toMatchObject({ way: 'tokenize', probes: 6 });
  });

  test('prompts with and without tools and system messages, and what was sampled after them', async () => {
    const asks: Ask[] = USERS.flatMap((user, index) =>
      [TOOLS, []].flatMap((tools, withTools) =>
        [[], ['Be short.', 'Be kind.']].map((systemMessages, withSystem) => ({
          ...{ systemMessages, tools, user },
          seed: seedOf(1, `${index} ${withTools} ${withSystem}`),
        })),
      ),
    );
    const check = async (ask: Ask): Promise<void> => {
      const ours = await askTokens(server, renderer, ask);
      const theirs = await askChat(server, ask);
      expect({ ask: ask.user, ids: theirs.promptIds }).toEqual({ ask: ask.user, ids: ours.promptIds });
      expect(theirs.sampledIds).toEqual(ours.sampledIds);
      const { message } = ours.turn;
      expect([theirs.reasoning, theirs.content]).toEqual([message.reasoning, message.content]);
      expect(theirs.calls).toEqual(
        message.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
      );
    };
    await Promise.all(asks.map(check));
  }, 600_000);
});
