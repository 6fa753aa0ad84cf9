/** API models: tools in, calls out, and the endpoint's own words sent back to it. */
import { describe, expect, test } from 'vitest';
import { createChatPolicy } from '../../activities/policy/chat-policy.js';
import type { Message } from '../../core/message.js';
import { SAMPLING } from '../../temporal.config.js';
import { type Reply, serve } from './server.js';

const usage = { prompt_tokens: 9, completion_tokens: 4 };
const wireCall = (args: string) => ({
  id: 'call_x',
  type: 'function',
  function: { name: 'f', arguments: args },
});
const reply = (message: object, finish = 'stop'): Reply => ({
  body: {
    choices: [{ message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
    usage,
  },
});
const user = (content: string): Message => ({ role: 'user', content });

async function begin(replies: readonly Reply[]) {
  const server = await serve(replies);
  const policy = createChatPolicy({ kind: 'policy', baseUrl: server.baseUrl, model: 'm', apiKeyEnv: null });
  const tools = [{ name: 'f', description: 'd', inputSchema: { type: 'object' } }];
  const request = { systemMessages: ['a', 'b'], tools, seed: '1', sampling: SAMPLING, maxPromptTokens: 10 };
  const session = await policy.begin(request);
  const turn = (...observations: Message[]) =>
    session.turn(observations, { maxTokens: 50, signal: new AbortController().signal });
  return { server, session, turn, policy, request };
}

test('a conversation with a call', async () => {
  const { server, session, turn } = await begin([
    reply({ tool_calls: [wireCall('{"n": 1}')], reasoning_content: 'hm' }, 'tool_calls'),
    reply({ content: 'done <DONE>' }),
  ]);
  const first = await turn(user('u'));
  expect(first.message).toEqual({
    role: 'assistant',
    reasoning: 'hm',
    content: '',
    toolCalls: [{ id: 'c0', name: 'f', arguments: { n: 1 } }],
  });
  expect(first).toMatchObject({
    promptTokens: 9,
    sampledTokens: 4,
    finishReason: 'stop',
    weightVersion: undefined,
  });
  const second = await turn({ role: 'tool', callId: 'c0', name: 'f', content: 'ok', isError: false });
  expect(second.message.content).toBe('done <DONE>');
  const sent = server.received[1]?.body;
  expect(sent?.messages).toMatchObject([
    { role: 'system', content: 'a\n\nb' },
    { role: 'user', content: 'u' },
    { role: 'assistant', tool_calls: [wireCall('{"n": 1}')] },
    { role: 'tool', tool_call_id: 'call_x', content: 'ok' },
  ]);
  expect(sent?.tools).toEqual([
    { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } },
  ]);
  expect(session.tokens()).toBeUndefined();
});

test('a notice answers no call, so it is said as the user', async () => {
  const { server, turn } = await begin([reply({ content: 'cut' }, 'length')]);
  expect(await turn(user('u'))).toMatchObject({ finishReason: 'length' });
  await turn({ role: 'tool', callId: '', name: '', content: 'error: cut off', isError: true });
  expect((server.received[1]?.body.messages as unknown[] | undefined)?.at(-1)).toEqual({
    role: 'user',
    content: 'error: cut off',
  });
});

test('a model that wants the limit under its new name gets it, from then on', async () => {
  const message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
  const refusal: Reply = { status: 400, body: { error: { message, code: 'unsupported_parameter' } } };
  const { server, turn } = await begin([refusal, reply({ content: 'yes' }), reply({ content: 'no' })]);
  expect((await turn(user('u'))).message.content).toBe('yes');
  await turn(user('u'));
  const limits = server.received.map(({ body }) => [body.max_tokens, body.max_completion_tokens]);
  expect(limits).toEqual([
    [50, undefined],
    [undefined, 50],
    [undefined, 50],
  ]);
});

test('episodes that learn it at the same moment all go on', async () => {
  const message = "Use 'max_completion_tokens' instead.";
  const refusal: Reply = { status: 400, body: { error: { message } } };
  const { turn, server, policy, request } = await begin([refusal, refusal, reply({ content: 'yes' })]);
  const other = await policy.begin(request);
  const limits = { maxTokens: 50, signal: new AbortController().signal };
  const turns = await Promise.all([turn(user('u')), other.turn([user('u')], limits)]);
  expect(turns.map(({ message: said }) => said.content)).toEqual(['yes', 'yes']);
  expect(server.received).toHaveLength(4);
});

test('it is asked once: a model that refuses both names is a fault', async () => {
  const { server, turn } = await begin([
    { status: 400, body: { error: { message: 'max_completion_tokens?' } } },
  ]);
  await expect(turn(user('u'))).rejects.toMatchObject({ code: 'http_400', retry: false });
  expect(server.received).toHaveLength(2);
});

test.each(['{"n": ', '[1]', '"x"'])('arguments that are no object refuse the call: %s', async (args) => {
  const { turn } = await begin([reply({ tool_calls: [wireCall(args)] }, 'tool_calls')]);
  const { refused, message } = await turn(user('u'));
  expect(message.toolCalls).toHaveLength(1);
  expect(refused?.get('c0')).toContain('no JSON object');
});

test.each([
  ['{"n": 9007199254740993}', true],
  ['{"n": [{"m": -12345678901234567890}]}', true],
  ['{"n": 9007199254740991, "text": "9007199254740993"}', false],
  ['{"n": 300.0}', false],
])('an integer beyond 2^53 refuses the call: %s', async (args, refusedCall) => {
  const { turn } = await begin([reply({ tool_calls: [wireCall(args)] }, 'tool_calls')]);
  const { refused } = await turn(user('u'));
  expect(refused?.get('c0')?.startsWith('the arguments hold an integer') ?? false).toBe(refusedCall);
});

describe('faults', () => {
  test.each([
    ['an HTML page', { body: '<html>' }, 'unreadable', true],
    ['no choices', { body: { choices: [], usage } }, 'unreadable', true],
    [
      'no usage',
      { body: { choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] } },
      'unreadable',
      true,
    ],
    ['broken off by the server', reply({ content: 'half a' }, 'error'), 'unreadable', true],
    ['without a reason', { body: { choices: [{ message: { content: 'x' } }], usage } }, 'unreadable', true],
    ['withheld', reply({ content: '' }, 'content_filter'), 'content_filter', false],
  ] as [string, Reply, string, boolean][])('%s', async (_name, bad, code, retry) => {
    const { turn } = await begin([bad]);
    await expect(turn(user('u'))).rejects.toMatchObject({ kind: 'policy', code, retry });
  });
});
