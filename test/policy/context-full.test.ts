/** A conversation that does not fit the model's context: the agent's own limit, or the task's fault; never a system error for ever. */
import { describe, expect, test } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import { episodeParts } from '../episode/fixtures/parts.js';
import { type Reply, serve } from './server.js';
import { begin, chatPolicy, tokenPolicy } from './sessions.js';

const refuse = (error: object, status = 400): Reply => ({ status, body: { error } });

/** As the engines say it. */
const TEXTS: readonly (readonly [string, Reply])[] = [
  [
    'vLLM',
    refuse({
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 500 output tokens and your prompt contains 3900 input tokens, for a total of 4400 tokens.",
      type: 'BadRequestError',
      param: 'input_tokens',
      code: 400,
    }),
  ],
  [
    'older vLLM',
    {
      status: 400,
      body: {
        object: 'error',
        message:
          'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller.',
        code: 400,
      },
    },
  ],
  [
    'OpenAI',
    refuse({ message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded' }),
  ],
  [
    'llama.cpp',
    refuse({
      code: 400,
      message: 'request (4476 tokens) exceeds the available context size (4096 tokens), try increasing it',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 4476,
      n_ctx: 4096,
    }),
  ],
  [
    'SGLang',
    refuse({
      message: "The input (4500 tokens) is longer than the model's context length (4096 tokens).",
      type: 'BadRequestError',
      code: 400,
    }),
  ],
  [
    'an error in the stream',
    { stream: { events: [{ error: { code: 'context_length_exceeded', message: 'x' } }] } },
  ],
];

const usage = { prompt_tokens: 9, completion_tokens: 4 };
const say = (message: object, finish = 'stop'): Reply => ({
  body: { choices: [{ message: { role: 'assistant', ...message }, finish_reason: finish }], usage },
});
const put = say(
  {
    tool_calls: [{ id: 'x', type: 'function', function: { name: 'put', arguments: '{"id":"a","count":2}' } }],
  },
  'tool_calls',
);

describe.each(TEXTS)('%s', (_name, full) => {
  test('after a turn the conversation ends, is graded, and has failed', async () => {
    const { baseUrl } = await serve([put, full]);
    const played = await playEpisode(episodeParts([], { policy: chatPolicy(baseUrl, { stream: 'auto' }) }));
    expect(played.fault).toBeUndefined();
    expect(played.clean).toMatchObject({
      termination: 'token_budget',
      verdict: { passed: false, reward: 0 },
    });
    expect(played.record.effects).toEqual({ shelf: { a: 2 } });
  });

  test('before the first it is a prompt that is too long, and names the task', async () => {
    const { baseUrl } = await serve([full]);
    const policy = chatPolicy(baseUrl, { stream: 'auto' });
    const { clean, fault } = await playEpisode(episodeParts([], { policy }));
    expect(clean).toBeUndefined();
    expect(fault).toMatchObject({ kind: 'policy', code: 'prompt_too_long', retry: false });
    expect(fault?.message).toMatch(/^task \S+: policy endpoint http/);
  });
});

test('a token endpoint whose context is smaller than it says', async () => {
  const full = TEXTS[0]![1];
  const first = await begin(tokenPolicy, [full]);
  await expect(first.turn()).rejects.toMatchObject({ code: 'prompt_too_long', retry: false });
  expect(first.server.received).toHaveLength(1);
});

describe('a server that counts what it is asked for against its context', () => {
  const full = TEXTS[0]![1];

  test('is asked for less while the conversation still fits', async () => {
    const { server, turn } = await begin(chatPolicy, [
      full,
      full,
      say({ content: 'yes' }),
      say({ content: 'no' }),
    ]);
    expect((await turn(undefined, 8_000)).message.content).toBe('yes');
    // The context only gets fuller: what was too much stays too much.
    expect((await turn(undefined, 8_000)).message.content).toBe('no');
    expect(server.received.map(({ body }) => body.max_tokens)).toEqual([8_000, 4_000, 2_000, 2_000]);
  });

  test('is not asked for an answer without room', async () => {
    const { server, turn } = await begin(chatPolicy, [full]);
    await expect(turn(undefined, 1_100)).rejects.toMatchObject({ code: 'prompt_too_long' });
    expect(server.received.map(({ body }) => body.max_tokens)).toEqual([1_100, 550, 275]);
  });
});

test('a refusal that only sounds alike is none', async () => {
  const { turn } = await begin(chatPolicy, [refuse({ message: 'unknown parameter: contextual' })]);
  await expect(turn()).rejects.toMatchObject({ code: 'http_400', retry: false });
});
