/** The token policy against replies as vLLM and the trainer give them, and against replies that nobody should give. */
import { describe, expect, test } from 'vitest';
import { createTokenPolicy } from '../../activities/policy/token-policy.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Message } from '../../core/message.js';
import type { Renderer } from '../../core/render/renderer.js';
import { seedOf } from '../../core/seed.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { MODELS } from '../render/files.js';
import { type Reply, serve } from './server.js';

const WEIGHTS = 'sha256:w';
const renderer = (): Renderer => MODELS[MODELS.length - 1]![1]();
const user = (content: string): Message => ({ role: 'user', content });
const limits = () => ({ maxTokens: 50, signal: new AbortController().signal });

/** A reply that samples `text`, one log-probability an id. */
function sampled(
  text: string,
  changes: Record<string, unknown> = {},
  top: Record<string, unknown> = {},
): Reply {
  const ids = renderer().tokens.encode(text);
  const logprobs = { token_logprobs: ids.map((_, i) => -i / 8) };
  const choice = { text, finish_reason: 'stop', token_ids: ids, logprobs, ...changes };
  return { body: { model: WEIGHTS, weight_version: WEIGHTS, choices: [choice], ...top } };
}

async function begin(
  replies: readonly Reply[],
  maxPromptTokens: number = EPISODE_LIMITS.promptTokens,
  contextTokens = 4_096,
) {
  const server = await serve(replies);
  const endpoint = { kind: 'policy', baseUrl: server.baseUrl, model: WEIGHTS, apiKeyEnv: null } as const;
  const policy = createTokenPolicy({
    endpoint,
    renderer: renderer(),
    format: outputFormat('qwen3_xml'),
    contextTokens,
  });
  const tools = [{ name: 'f', inputSchema: { properties: { n: { type: 'integer' } } } }];
  const request = { systemMessages: ['s'], tools, seed: '7', sampling: SAMPLING, maxPromptTokens };
  return { server, session: await policy.begin(request) };
}

const call = (n: string): string =>
  `\n</think>\n\n<tool_call>\n<function=f>\n<parameter=n>\n${n}\n</parameter>\n</function>\n</tool_call><|im_end|>`;

describe('the buffer', () => {
  test('holds exactly what was sent and sampled, turn by turn', async () => {
    const texts = [call('1'), '\n</think>\n\ndone <DONE><|im_end|>'];
    const { server, session } = await begin(texts.map((text) => sampled(text)));
    const first = await session.turn([user('please help .')], limits());
    expect(first).toMatchObject({
      finishReason: 'stop',
      raw: texts[0],
      weightVersion: WEIGHTS,
      problems: [],
    });
    expect(first.message.toolCalls).toEqual([{ id: 'c0', name: 'f', arguments: { n: 1 } }]);
    const tool: Message = { role: 'tool', callId: 'c0', name: 'f', content: 'ok .', isError: false };
    const second = await session.turn([tool], limits());
    expect(second.message).toMatchObject({ content: 'done <DONE>', toolCalls: [] });

    const [one, two] = server.received.map((r) => r.body.prompt as number[]);
    const ids = texts.map((text) => renderer().tokens.encode(text));
    const delta = renderer().delta([tool], true);
    expect(two).toEqual([...one!, ...ids[0]!, ...delta]);
    const tokens = session.tokens()!;
    expect(Array.from(tokens.ids)).toEqual([...two!, ...ids[1]!]);
    expect(tokens.sampled.reduce((sum, flag) => sum + flag, 0)).toBe(ids[0]!.length + ids[1]!.length);
    expect(tokens.logprobs[one!.length + 1]).toBe(-1 / 8);
    expect(second).toMatchObject({ promptTokens: two!.length, sampledTokens: ids[1]!.length });
  });

  test('asks for what training needs, with a seed for each turn', async () => {
    const { server, session } = await begin([sampled(call('1'))]);
    await session.turn([user('u')], limits());
    await session.turn([user('u')], limits());
    expect(server.received[0]).toMatchObject({
      path: '/v1/completions',
      body: {
        model: WEIGHTS,
        max_tokens: 50,
        temperature: 1,
        top_k: 20,
        top_p: 0.95,
        logprobs: 0,
        return_token_ids: true,
      },
    });
    expect(server.received.map((r) => r.body.seed)).toEqual([seedOf('7', 0), seedOf('7', 1)]);
    expect(server.received[0]?.body.stop_token_ids).toEqual(renderer().stopIds);
  });

  test('a turn that was cut off is ended by the next delta', async () => {
    const cut = sampled('\n</think>\n\nhello', { finish_reason: 'length' });
    const { server, session } = await begin([cut]);
    expect(await session.turn([user('u')], limits())).toMatchObject({ finishReason: 'length' });
    await session.turn([user('v')], limits());
    const prompt = server.received[1]?.body.prompt as number[];
    const delta = renderer().delta([user('v')], false);
    expect(prompt.slice(-delta.length)).toEqual(delta);
    expect(delta[0]).toBe(renderer().stopIds[0]);
  });

  test('never asks for more than the context holds, and says when it is full', async () => {
    const cut = sampled('\n</think>\n\nhello', { finish_reason: 'length' });
    const size = renderer().first({ systemMessages: ['s'], tools: [], messages: [user('u')] }).length;
    const { server, session } = await begin([cut], 4_000, size + 10);
    await session.turn([user('u')], limits());
    expect(server.received[0]?.body.max_tokens).toBe(10);
    const more = session.turn([user('and one more thing to say .')], limits());
    await expect(more).rejects.toMatchObject({ code: 'context_full', retry: false });
    expect(server.received).toHaveLength(1);
    expect(session.tokens()?.ids.length).toBeLessThanOrEqual(size + 10);
  });

  test('a call that cannot be passed exactly is refused, not rounded', async () => {
    const { session } = await begin([sampled(call('9007199254740993'))]);
    const turn = await session.turn([user('u')], limits());
    expect([...turn.refused!.keys()]).toEqual(['c0']);
    expect(turn.problems[0]).toContain('9007199254740991');
  });
});

describe('faults that name endpoint and field', () => {
  test.each([
    ['an HTML page', { body: '<html>' }, 'a JSON object', 'unreadable'],
    ['no choices', { body: { weight_version: WEIGHTS, choices: [] } }, 'choices[0]', 'unreadable'],
    ['no ids', sampled('a', { token_ids: undefined }), 'choices[0].token_ids', 'unreadable'],
    ['ids that are none', sampled('a', { token_ids: [1.5] }), 'choices[0].token_ids', 'unreadable'],
    ['no log-probabilities', sampled('a', { logprobs: null }), 'token_logprobs', 'unreadable'],
    [
      'fewer log-probabilities than ids',
      sampled('a b c', { logprobs: { token_logprobs: [-1] } }),
      'one per id',
      'unreadable',
    ],
    [
      'a log-probability that is null',
      sampled('a', { logprobs: { token_logprobs: [null] } }),
      'numbers only',
      'unreadable',
    ],
    ['an unknown finish reason', sampled('a', { finish_reason: 'abort' }), 'finish_reason', 'unreadable'],
    ['other weights', sampled('a', {}, { weight_version: 'sha256:x' }), 'sha256:x', 'wrong_weights'],
    [
      'another model, no weight version',
      sampled('a', {}, { weight_version: undefined, model: 'm' }),
      'weights',
      'wrong_weights',
    ],
  ] as [string, Reply, string, string][])('%s', async (_name, reply, field, code) => {
    const { server, session } = await begin([reply]);
    const error: unknown = await session.turn([user('u')], limits()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'policy', code, retry: true });
    expect(String(error)).toContain(field);
    expect(String(error)).toContain(server.baseUrl);
  });

  test('a first prompt that is too long is never sent, never cut', async () => {
    const { server, session } = await begin([], 5);
    const turning = session.turn([user('a long story .')], limits());
    await expect(turning).rejects.toMatchObject({ code: 'prompt_too_long', retry: false });
    expect(server.received).toHaveLength(0);
  });
});
