/**
 * The chat policy against llama.cpp's own server. Runs only where one is given (docs/endpoints.md says how to have one):
 *
 *   STEADFAST_LLAMA_URL=http://127.0.0.1:7992/v1 npx vitest run test/policy/llama-server.test.ts
 */
import { describe, expect, test } from 'vitest';
import { createChatPolicy } from '../../activities/policy/chat-policy.js';
import { user } from './sessions.js';

const baseUrl = process.env.STEADFAST_LLAMA_URL ?? '';
const MINUTES = 5 * 60_000;
const GREEDY = { temperature: 0, topK: 1, topP: 1 };

async function session(stream: boolean, systemMessages = ['You help at a desk.']) {
  const policy = createChatPolicy({ kind: 'policy', baseUrl, model: 'm', apiKeyEnv: null, stream });
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }];
  const opened = await policy.begin({
    systemMessages,
    tools,
    seed: '1',
    sampling: GREEDY,
    maxPromptTokens: 9_999,
  });
  return (text: string, options: { signal?: AbortSignal; onProgress?: (count: number) => void } = {}) =>
    opened.turn([user(text)], { maxTokens: 16, signal: new AbortController().signal, ...options });
}

/** More than the context has, whatever the tokenizer makes of it. */
const ENDLESS = 'word '.repeat(20_000);

describe.skipIf(baseUrl === '')('llama.cpp', () => {
  test('a streamed turn equals the whole one', { timeout: MINUTES }, async () => {
    const [streamed, whole] = [await session(true), await session(false)];
    let counted = 0;
    const one = await streamed('Where is my parcel?', {
      onProgress: (count) => {
        counted = count;
      },
    });
    expect(one).toEqual(await whole('Where is my parcel?'));
    expect(one.sampledTokens).toBeGreaterThan(0);
    expect(counted).toBeGreaterThan(0);
    expect(await streamed('And now?')).toEqual(await whole('And now?'));
  });

  test('a first prompt that is too long, and a conversation that has outgrown the context', {
    timeout: MINUTES,
  }, async () => {
    for (const stream of [true, false]) {
      const turn = await session(stream);
      await expect(turn(ENDLESS)).rejects.toMatchObject({ code: 'prompt_too_long', retry: false });
      const other = await session(stream);
      await other('Hello.');
      await expect(other(ENDLESS)).rejects.toMatchObject({ code: 'context_full', retry: false });
    }
  });

  test('an abort frees the server for the next turn', { timeout: MINUTES }, async () => {
    const controller = new AbortController();
    const turn = await session(true);
    const aborted = turn('Tell me everything.', {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('stop')),
    });
    await expect(aborted).rejects.toThrow('stop');
    expect((await (await session(true))('Hello.')).sampledTokens).toBeGreaterThan(0);
  });
});
