/** What endpoints do wrong, and what becomes of it: in-place retries, then one typed fault that names the place. */
import { describe, expect, test } from 'vitest';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { type Endpoint, openAi } from '../../activities/policy/endpoint.js';
import { complete } from '../../activities/policy/exchange.js';
import { type Reply, serve } from './server.js';

const OK: Reply = {
  body: { choices: [{ message: { content: 'yes' } }], usage: { prompt_tokens: 3, completion_tokens: 1 } },
};
const QUICK = { attempts: 3, firstDelayMs: 1, maxDelayMs: 2 };
const never = () => new AbortController().signal;

async function ask(replies: readonly Reply[], signal = never()) {
  const server = await serve(replies);
  const endpoint: Endpoint = { kind: 'user', baseUrl: server.baseUrl, model: 'm', apiKeyEnv: null };
  const body = { model: 'm', messages: [] };
  const asked = complete(endpoint, { path: '/chat/completions', body, signal, retries: QUICK });
  return { server, asked };
}

describe('retried in place', () => {
  test.each([
    ['429', { status: 429 }],
    ['429 with a date', { status: 429, headers: { 'retry-after': new Date(0).toUTCString() } }],
    ['429 with seconds', { status: 429, headers: { 'retry-after': '0' } }],
    ['429 with milliseconds', { status: 429, headers: { 'retry-after-ms': '2', 'retry-after': '3600' } }],
    ['429 with nonsense', { status: 429, headers: { 'retry-after': 'soon' } }],
    ['408', { status: 408 }],
    ['529', { status: 529, body: { error: { message: 'overloaded' } } }],
    ['500', { status: 500 }],
    ['503 from a proxy', { status: 503, body: '<html>busy</html>' }],
    ['connection reset', { fault: 'reset' }],
    ['reply cut in the middle', { ...OK, fault: 'half' }],
  ] as [string, Reply][])('%s, then the answer', async (_name, bad) => {
    const { server, asked } = await ask([bad, bad, OK]);
    expect(await asked).toEqual(OK.body);
    expect(server.received).toHaveLength(3);
  });

  test.each([
    ['429', { status: 429 }, 'rate_limited'],
    ['500', { status: 500, body: { error: { message: 'boom' } } }, 'server_error'],
    ['502 from a proxy', { status: 502, body: '<html><h1>Bad Gateway</h1></html>' }, 'server_error'],
    ['reset', { fault: 'reset' }, 'unreachable'],
  ] as [string, Reply, string][])(
    '%s for ever is a fault that another try may help',
    async (_name, bad, code) => {
      const { server, asked } = await ask([bad]);
      await expect(asked).rejects.toMatchObject({ kind: 'user', code, retry: true });
      expect(server.received).toHaveLength(3);
    },
  );

  test.each([
    ['in seconds', '3600'],
    ['as a date', new Date(Date.now() + 3_600_000).toUTCString()],
  ])('a server that wants a long pause is not waited for: %s', async (_name, value) => {
    const { server, asked } = await ask([{ status: 429, headers: { 'retry-after': value } }]);
    await expect(asked).rejects.toMatchObject({ code: 'rate_limited' });
    expect(server.received).toHaveLength(1);
  });

  test('the pause that a server asks for is kept', async () => {
    const { asked } = await ask([{ status: 503, headers: { 'retry-after': '1' } }, OK]);
    const before = performance.now();
    expect(await asked).toEqual(OK.body);
    // A lower bound: a slow machine cannot break it.
    expect(performance.now() - before).toBeGreaterThan(950);
  });
});

describe('not retried', () => {
  test.each([
    ['401', { status: 401, body: { error: { message: 'bad key' } } }, 'http_401', false],
    ['wrong model', { status: 404, body: { error: { message: 'no such model' } } }, 'http_404', false],
    [
      'weights gone',
      { status: 404, body: { error: { code: 'weights_unavailable', message: 'x' } } },
      'weights_unavailable',
      true,
    ],
    [
      'context',
      { status: 400, body: { error: { message: "This model's maximum context length is 512 tokens" } } },
      'context_full',
      false,
    ],
    [
      'no JSON',
      { body: '{"choices": [', headers: { 'content-type': 'application/json' } },
      'unreadable',
      true,
    ],
  ] as [string, Reply, string, boolean][])('%s', async (_name, bad, code, retry) => {
    const { server, asked } = await ask([bad]);
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'user', code, retry });
    expect(String(error)).toContain(server.baseUrl);
    expect(server.received).toHaveLength(1);
  });

  test('an abort ends the request in flight, and a pause', async () => {
    for (const bad of [{ fault: 'silent' }, { status: 429, headers: { 'retry-after': '30' } }] as Reply[]) {
      const controller = new AbortController();
      const { server, asked } = await ask([bad], controller.signal);
      const ended = expect(asked).rejects.toThrow('stop');
      await expect.poll(() => server.received.length).toBe(1);
      controller.abort(new Error('stop'));
      await ended;
    }
  });
});

describe('chat model', () => {
  const model = async (replies: readonly Reply[]) => {
    const { baseUrl } = await serve(replies);
    return createChatModel({ kind: 'judge', baseUrl, model: 'm', apiKeyEnv: null });
  };
  const meter = () => ({ promptTokens: 0, sampledTokens: 0, calls: 0 });
  const prompt = { system: 's', user: 'u' };

  test('text and usage', async () => {
    const counted = meter();
    expect(await (await model([OK])).complete(prompt, counted, never())).toBe('yes');
    expect(counted).toEqual({ promptTokens: 3, sampledTokens: 1, calls: 1 });
  });

  test.each([
    ['an HTML page', { body: '<html>login</html>' }],
    ['no choices', { body: { choices: [] } }],
    ['no content', { body: { choices: [{ message: { content: null } }] } }],
  ] as [string, Reply][])('%s is unreadable', async (_name, bad) => {
    const asked = (await model([bad])).complete(prompt, meter(), never());
    await expect(asked).rejects.toMatchObject({ kind: 'judge', code: 'unreadable' });
  });

  test('a key that is not set is bad usage, named', () => {
    const endpoint: Endpoint = {
      kind: 'policy',
      baseUrl: 'http://127.0.0.1:9/v1',
      model: 'm',
      apiKeyEnv: 'NO_SUCH_KEY',
    };
    expect(() => openAi(endpoint)).toThrow('NO_SUCH_KEY');
  });

  test('an answer that needs such a key is not asked for again', async () => {
    const endpoint = { baseUrl: 'http://127.0.0.1:9/v1', model: 'm', apiKeyEnv: 'NO_SUCH_KEY' };
    const asked = createChatModel({ kind: 'judge', ...endpoint }).complete(prompt, meter(), never());
    await expect(asked).rejects.toMatchObject({
      ...{ kind: 'judge', code: 'no_key', retry: false },
      message: expect.stringMatching(/^environment variable NO_SUCH_KEY/) as string,
    });
  });
});
