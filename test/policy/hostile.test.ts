/**
 * Endpoints at their worst. Whatever comes, the turn ends as one fault that names the endpoint and the field, so the try
 * is a system error; nothing of it is ever a turn, and nothing waits for ever.
 */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Reply, StreamReply } from './server.js';
import { begin, chatPolicy, renderer, tokenPolicy, WEIGHTS } from './sessions.js';

const ids = renderer().tokens.encode('so .<|im_end|>');
const logprobs = { token_logprobs: ids.map(() => -0.5) };

/** A token reply, with changes to its choice. */
const tokens = (changes: Record<string, unknown> = {}, top: Record<string, unknown> = {}) => ({
  model: WEIGHTS,
  choices: [{ index: 0, text: 'so .', finish_reason: 'stop', token_ids: ids, logprobs, ...changes }],
  ...top,
});

const usage = { prompt_tokens: 9, completion_tokens: 4 };
const chat = (message: object, changes: object = {}) => ({
  choices: [
    { index: 0, message: { role: 'assistant', content: 'a', ...message }, finish_reason: 'stop', ...changes },
  ],
  usage,
});
const delta = (piece: object, changes: object = {}) => ({
  choices: [{ index: 0, delta: piece, finish_reason: null, ...changes }],
});
const END = { ...delta({}, { finish_reason: 'stop' }), usage };

type Case = readonly [name: string, reply: Reply, field: RegExp, code: string, retry?: boolean];

/** Of any endpoint, whole or streamed. */
const ANY: readonly Case[] = [
  ['an HTML page with 200', { body: '<html>login</html>' }, /JSON object.*<html>/, 'unreadable'],
  [
    'an empty body',
    { body: '', headers: { 'content-type': 'application/json' } },
    /JSON, found nothing/,
    'unreadable',
  ],
  ['no body at all', { status: 204, body: '' }, /JSON object/, 'unreadable'],
  [
    'half a JSON',
    { body: '{"choices": [', headers: { 'content-type': 'application/json' } },
    /JSON, found/,
    'unreadable',
  ],
  [
    'NaN, which JSON has not',
    { body: '{"choices": NaN}', headers: { 'content-type': 'application/json' } },
    /NaN/,
    'unreadable',
  ],
  ['a JSON list', { body: [] }, /JSON object|chat completion|choices/, 'unreadable'],
  ['a number', { body: 3 }, /JSON object|chat completion|choices/, 'unreadable'],
  [
    'JSON as plain text',
    { body: tokens(), headers: { 'content-type': 'text/plain' } },
    /text\/plain/,
    'unreadable',
  ],
  [
    'gzip that nobody asked for',
    {
      body: Buffer.from('1f8b0800ffff', 'hex'),
      headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
    },
    /content-encoding: expected none, found gzip/,
    'unreadable',
  ],
  [
    'other bytes than UTF-8',
    { body: Buffer.from('{"choices": "\xff"}', 'latin1'), headers: { 'content-type': 'application/json' } },
    /UTF-8/,
    'unreadable',
  ],
  ['no choice', { body: { model: WEIGHTS, choices: [], usage } }, /choices\[0\]/, 'unreadable'],
  [
    'choices that are none',
    { body: { model: WEIGHTS, choices: 'x', usage } },
    /choices: expected a list/,
    'unreadable',
  ],
  [
    'a choice that is none',
    { body: { model: WEIGHTS, choices: [null], usage } },
    /choices: expected one choice/,
    'unreadable',
  ],
  [
    'a wrong model name',
    {
      status: 404,
      body: { error: { message: 'The model `x` does not exist.', type: 'NotFoundError', code: 404 } },
    },
    /404 The model `x` does not exist/,
    'http_404',
    false,
  ],
  [
    'a redirect',
    { status: 307, headers: { location: 'https://elsewhere.test/v1' }, body: '' },
    /307 redirected to https:\/\/elsewhere.test\/v1, not followed/,
    'http_307',
    false,
  ],
  ['a bad key', { status: 401, body: { error: { message: 'bad key' } } }, /401 bad key/, 'http_401', false],
  [
    'old errors of vLLM',
    { status: 400, body: { object: 'error', message: 'top_k is wrong', code: 400 } },
    /400 top_k is wrong/,
    'http_400',
    false,
  ],
  [
    'errors of FastAPI',
    { status: 422, body: { detail: [{ loc: ['body', 'n'], msg: 'bad n' }] } },
    /422 .*bad n/,
    'http_422',
    false,
  ],
  [
    'errors of Ollama',
    { status: 404, body: { error: 'model "m" not found' } },
    /404 model "m" not found/,
    'http_404',
    false,
  ],
  [
    'a spent quota',
    {
      status: 429,
      body: { error: { message: 'pay', type: 'insufficient_quota', code: 'insufficient_quota' } },
    },
    /429 pay/,
    'quota',
    false,
  ],
  [
    'a function that is not there',
    { status: 501, body: { error: { message: 'no tools' } } },
    /501 no tools/,
    'http_501',
    false,
  ],
];

const TOKEN: readonly Case[] = [
  [
    'an id that is no token',
    { body: tokens({ token_ids: [ids[0]!, 9_999_999, ...ids.slice(2)] }) },
    /choices\[0\]\.token_ids: expected ids of the tokenizer, found 9999999 at 1/,
    'unreadable',
  ],
  [
    'two choices',
    { body: tokens({}, { choices: [tokens().choices[0], tokens().choices[0]] }) },
    /choices: expected one/,
    'unreadable',
  ],
  ['another choice', { body: tokens({ index: 1 }) }, /choices\[0\]\.index/, 'unreadable'],
  ['no ids', { body: tokens({ token_ids: null }) }, /choices\[0\]\.token_ids/, 'unreadable'],
  ['ids that are none', { body: tokens({ token_ids: [1, -2] }) }, /token_ids.*-2 at 1/, 'unreadable'],
  ['no log-probabilities', { body: tokens({ logprobs: null }) }, /token_logprobs/, 'unreadable'],
  [
    'one too few',
    { body: tokens({ logprobs: { token_logprobs: [-1] } }) },
    /one per id, found 1/,
    'unreadable',
  ],
  [
    'one too many',
    { body: tokens({ logprobs: { token_logprobs: [...ids.map(() => -1), -1] } }) },
    /one per id/,
    'unreadable',
  ],
  ['null', { body: tokens({ logprobs: { token_logprobs: [null, -1, -1] } }) }, /null at 0/, 'unreadable'],
  [
    'minus infinity',
    { body: tokens({ logprobs: { token_logprobs: [-1, -9999, -1] } }) },
    /-9999 at 1/,
    'unreadable',
  ],
  [
    'logits',
    { body: tokens({ logprobs: { token_logprobs: [-1, 3.5, -1] } }) },
    /log-probabilities, found 3.5 at 1/,
    'unreadable',
  ],
  ['text', { body: tokens({ logprobs: { token_logprobs: ['-1', -1, -1] } }) }, /-1 at 0/, 'unreadable'],
  ['no finish reason', { body: tokens({ finish_reason: null }) }, /finish_reason/, 'unreadable'],
  ['an abort', { body: tokens({ finish_reason: 'abort' }) }, /finish_reason.*abort/, 'unreadable'],
  [
    'more tokens than asked for',
    {
      body: tokens({
        token_ids: Array(600).fill(1) as number[],
        logprobs: { token_logprobs: Array(600).fill(-1) as number[] },
      }),
    },
    /at most 500/,
    'unreadable',
  ],
  [
    'another prompt',
    { body: tokens({ prompt_token_ids: [1, 2, 3] }) },
    /prompt_token_ids.*from 0 on/,
    'unreadable',
  ],
  [
    'other weights',
    { body: tokens({}, { model: 'other' }) },
    /expected weights sha256:w, found other/,
    'wrong_weights',
  ],
  [
    'the default version of SGLang',
    { body: tokens({}, { metadata: { weight_version: 'default' } }) },
    /found default/,
    'wrong_weights',
  ],
];

const CHAT: readonly Case[] = [
  [
    'two choices',
    { body: { ...chat({}), choices: [chat({}).choices[0], chat({}).choices[0]] } },
    /one choice/,
    'unreadable',
  ],
  ['no message', { body: chat({}, { message: null }) }, /choices\[0\]\.message/, 'unreadable'],
  ['content that is none', { body: chat({ content: [1] }) }, /message\.content: expected text/, 'unreadable'],
  [
    'reasoning that is none',
    { body: chat({ reasoning: 4 }) },
    /message\.reasoning: expected text/,
    'unreadable',
  ],
  ['calls that are none', { body: chat({ tool_calls: {} }) }, /tool_calls: expected a list/, 'unreadable'],
  [
    'a call without a name',
    { body: chat({ tool_calls: [{ id: 'x', function: {} }] }) },
    /tool_calls\[0\]\.function\.name/,
    'unreadable',
  ],
  [
    'arguments that are no text',
    { body: chat({ tool_calls: [{ id: 'x', function: { name: 'f', arguments: {} } }] }) },
    /function\.arguments: expected text/,
    'unreadable',
  ],
  ['no finish reason', { body: chat({}, { finish_reason: null }) }, /finish_reason/, 'unreadable'],
  ['no usage', { body: { ...chat({}), usage: null } }, /usage/, 'unreadable'],
  ['half a usage', { body: { ...chat({}), usage: { prompt_tokens: 3 } } }, /usage/, 'unreadable'],
  [
    'withheld',
    { body: chat({}, { finish_reason: 'content_filter' }) },
    /content_filter/,
    'content_filter',
    false,
  ],
];

const named = <T extends readonly [string, ...unknown[]]>(rows: readonly T[]) =>
  rows.map((row) => ({ name: row[0], row }));

const failing = async (
  make: typeof chatPolicy,
  reply: Reply,
  options: Parameters<typeof begin>[2],
  [, , field, code, retry = true]: Case,
) => {
  const { server, session, turn } = await begin(make, [reply], options);
  const error: unknown = await turn().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'Fault', kind: 'policy', code, retry });
  expect(String(error)).toMatch(field);
  expect(String(error)).toContain(server.baseUrl);
  expect(session.tokens()?.sampled.includes(1) ?? false).toBe(false);
};

describe.each([
  ['token', tokenPolicy, [...ANY, ...TOKEN]],
  ['chat', chatPolicy, [...ANY, ...CHAT]],
] as const)('%s endpoint', (_kind, make, cases) => {
  test.each(named(cases))('$name', async ({ row }) => {
    await failing(make, row[1], { stream: false }, row);
    // A refusal is the same for a stream.
    if ((row[1].status ?? 200) >= 300) await failing(make, row[1], { stream: true }, row);
  });
});

interface Stream extends Omit<StreamReply, 'events'> {
  readonly events: readonly unknown[];
}

type StreamCase = readonly [name: string, stream: Stream, field: RegExp, code: string, retry?: boolean];

const HTTP_400 = { error: { message: 'bad n', type: 'BadRequestError', param: null, code: 400 } };

/** Of any stream. `open` is a good first event. */
const streams = (open: object): readonly StreamCase[] => [
  [
    'events that are no JSON',
    { events: [open, 'data: {"choices": [\n\n'] },
    /event 2: expected JSON/,
    'unreadable',
  ],
  [
    'events that are no objects',
    { events: [open, 'data: [1]\n\n'] },
    /event 2: expected a JSON object/,
    'unreadable',
  ],
  ['an event without choices', { events: [open, { hello: 1 }] }, /choices: expected a list/, 'unreadable'],
  ['an error of the request', { events: [open, HTTP_400] }, /HTTP 400 bad n/, 'http_400', false],
  ['nothing but the end', { events: [] }, /choices\[0\]|usage/, 'unreadable'],
  [
    'two choices',
    { events: [{ ...open, choices: [{ index: 0 }, { index: 1 }] }] },
    /one choice/,
    'unreadable',
  ],
  ['another choice', { events: [{ ...open, choices: [{ index: 1 }] }] }, /choices\[0\]\.index/, 'unreadable'],
];

const chunk = (changes: object = {}) => tokens({ finish_reason: null, ...changes });
const TOKEN_STREAMS: readonly StreamCase[] = [
  ...streams(chunk()),
  ['an end without a reason', { events: [chunk()] }, /finish_reason/, 'unreadable'],
  [
    'text without ids',
    { events: [chunk({ token_ids: undefined })] },
    /chunk 1: choices\[0\]\.token_ids/,
    'unreadable',
  ],
  [
    // Together they would be as many.
    'log-probabilities in the wrong chunk',
    {
      events: [
        chunk({ token_ids: [1, 2], logprobs: { token_logprobs: [-1] } }),
        tokens({ token_ids: [3], logprobs: { token_logprobs: [-1, -1] } }),
      ],
    },
    /chunk 1: .*2 numbers, one per id, found 1/,
    'unreadable',
  ],
  [
    'null in the middle',
    { events: [chunk(), chunk({ logprobs: { token_logprobs: [-1, null, -1] } })] },
    /chunk 2: .*null at 1/,
    'unreadable',
  ],
  [
    'other weights in the middle',
    { events: [chunk(), tokens({}, { model: 'new' })] },
    /found new/,
    'wrong_weights',
  ],
  [
    'another prompt',
    { events: [chunk({ prompt_token_ids: [7] }), tokens()] },
    /prompt_token_ids/,
    'unreadable',
  ],
  ['tokens without end', { events: [chunk()], end: 'endless' }, /at most 500 ids, as asked/, 'unreadable'],
  [
    'pings without end',
    { events: [': ping\n\n', ': '.padEnd(50_000)], end: 'endless' },
    /at most \d+ bytes/,
    'unreadable',
  ],
];

const CHAT_STREAMS: readonly StreamCase[] = [
  ...streams(delta({ content: 'a' })),
  [
    'an end without a reason',
    { events: [{ ...delta({ content: 'a' }), usage }] },
    /finish_reason/,
    'unreadable',
  ],
  [
    'content that is none',
    { events: [delta({ content: 3 })] },
    /chunk 1: choices\[0\]\.delta\.content/,
    'unreadable',
  ],
  [
    'calls that are none',
    { events: [delta({ tool_calls: 'x' })] },
    /delta\.tool_calls: expected a list/,
    'unreadable',
  ],
  [
    'a call at no position',
    { events: [delta({ tool_calls: [{ index: -1 }] })] },
    /tool_calls\[0\]\.index/,
    'unreadable',
  ],
  [
    'arguments that are none',
    { events: [delta({ tool_calls: [{ index: 0, function: { arguments: 1 } }] })] },
    /function\.arguments: expected text/,
    'unreadable',
  ],
  [
    'a call without a name',
    { events: [delta({ tool_calls: [{ index: 0, id: 'x', function: { arguments: '{}' } }] }), END] },
    /function\.name/,
    'unreadable',
  ],
  [
    'words without end',
    { events: [delta({ content: 'a'.repeat(50_000) })], end: 'endless' },
    /at most \d+ bytes/,
    'unreadable',
  ],
];

describe.each([
  ['token', tokenPolicy, TOKEN_STREAMS],
  ['chat', chatPolicy, CHAT_STREAMS],
] as const)('%s stream', (_kind, make, cases) => {
  test.each(named(cases))('$name', async ({ row }) => {
    const [name, stream, field, code, retry = true] = row;
    await failing(make, { stream }, { stream: true }, [name, {}, field, code, retry]);
  });
});

const good: Reply = { stream: { events: [tokens()] } };
const BROKEN: readonly (readonly [string, Reply, string])[] = [
  ['cut in the middle', { stream: { events: [chunk()], end: 'cut' } }, 'unreachable'],
  ['ended without [DONE]', { stream: { events: [tokens()], end: 'close' } }, 'unreachable'],
  ['that stalls', { stream: { events: [chunk()], end: 'hang' } }, 'stalled'],
  [
    'with an error of vLLM in the middle',
    {
      stream: {
        events: [
          chunk(),
          { error: { message: 'Internal server error', type: 'InternalServerError', code: 500 } },
        ],
      },
    },
    'server_error',
  ],
  [
    'with an error without a code',
    { stream: { events: [chunk(), { error: { message: 'x', type: 'server_error' } }] } },
    'server_error',
  ],
  [
    'with an error field',
    { stream: { events: [chunk(), 'error: {"code":503,"message":"busy"}\n\n'] } },
    'server_error',
  ],
  ['with an error as text', { stream: { events: [chunk(), { error: 'boom' }] } }, 'server_error'],
];

describe('a stream', () => {
  test.each(BROKEN)('%s is asked for again, and what came of it counts nothing', async (_name, bad) => {
    const { server, session, turn, progress } = await begin(tokenPolicy, [bad, good], {
      stream: true,
      idleMs: 60,
    });
    expect((await turn()).sampledTokens).toBe(ids.length);
    expect(session.tokens()?.sampled.reduce((sum, flag) => sum + flag, 0)).toBe(ids.length);
    expect(server.received).toHaveLength(2);
    expect(progress.at(-1)).toBe(ids.length);
    expect(server.received[0]?.body).toEqual(server.received[1]?.body);
  });

  test('what follows [DONE] is not read', async () => {
    const twice: Reply = {
      stream: { events: [tokens(), 'data: [DONE]\n\n', 'data: [DONE]\n\n', 'data: {"x"\n\n'] },
    };
    const { turn } = await begin(tokenPolicy, [twice], { stream: true });
    expect((await turn()).sampledTokens).toBe(ids.length);
  });

  test('a connection that is held open after [DONE] does not hold the turn', async () => {
    const open: Reply = { stream: { events: [tokens(), 'data: [DONE]\n\n'], end: 'hang' } };
    const { turn } = await begin(tokenPolicy, [open], { stream: true });
    expect((await turn()).sampledTokens).toBe(ids.length);
  });

  test('that nobody asked for is refused, and its connection closed', async () => {
    const endless: Reply = { stream: { events: [chunk()], end: 'endless' } };
    const { server, turn } = await begin(tokenPolicy, [endless], { stream: false });
    await expect(turn()).rejects.toMatchObject({ code: 'unreadable' });
    await expect.poll(() => server.received[0]?.gone).toBe(true);
  });
});

describe('what is hardly HTTP', () => {
  test.each([
    [
      'a status that is none',
      'HTTP/1.1 999 What\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
      'unreadable',
    ],
    ['a reply without end', `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"a": "`, 'unreadable'],
  ])('%s', async (_name, text, code) => {
    const filler = Buffer.alloc(4 * 1_048_576, 'x');
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => undefined);
      socket.write(text);
      const more = (): void => {
        if (!socket.destroyed && text.endsWith('"')) socket.write(filler, () => setImmediate(more));
      };
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const port = (server.address() as AddressInfo).port;
    const policy = chatPolicy(`http://127.0.0.1:${port}/v1`);
    const request = { systemMessages: [], tools: [], seed: '1', maxPromptTokens: 9 };
    const session = await policy.begin({ ...request, sampling: { temperature: 1, topK: 0, topP: 1 } });
    const turning = session.turn([], { maxTokens: 9, signal: new AbortController().signal });
    await expect(turning).rejects.toMatchObject({ kind: 'policy', code });
  });
});
