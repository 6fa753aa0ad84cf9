/** Streamed turns: the same as whole ones, told while they come, and over at once when nobody wants them any more. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Reply } from './server.js';
import { begin, chatPolicy, renderer, tokenPolicy, WEIGHTS } from './sessions.js';
import { CHAT_SHAPES, type Said, type Sampled, TOKEN_SHAPES } from './shapes.js';

const CALL =
  'so .\n</think>\n\n<tool_call>\n<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call><|im_end|>';

/** A turn that samples `text`; the prompt is what the policy sends for it. */
function sampled(text: string, prompt: readonly number[], finish: Sampled['finish'] = 'stop'): Sampled {
  const ids = renderer().tokens.encode(text);
  return {
    weights: WEIGHTS,
    text: ids.map((id) => renderer().tokens.decode([id])),
    ids,
    // Values that binary fractions do not have: 32 bits of them must be the same both ways.
    logprobs: ids.map((_, i) => -(i + 1) / 7),
    finish,
    prompt,
  };
}

/** Ids of the first prompt, as the policy sends them. */
async function firstPrompt(): Promise<readonly number[]> {
  const { server, turn } = await begin(tokenPolicy, [{ status: 400, body: {} }]);
  await turn().catch(() => undefined);
  return server.received[0]!.body.prompt as number[];
}

describe.each(TOKEN_SHAPES)('token endpoint: %s', (_name, shape) => {
  test.each(['stop', 'length'] as const)('a streamed turn equals the whole one: %s', async (finish) => {
    const turn = sampled(CALL, await firstPrompt(), finish);
    const stream: Reply = { stream: { events: shape.chunks(turn), pieces: 97 } };
    const streaming = await begin(tokenPolicy, [stream], { stream: true });
    const plain = await begin(tokenPolicy, [{ body: shape.whole(turn) }]);
    expect(await streaming.turn()).toEqual(await plain.turn());
    expect(streaming.session.tokens()).toEqual(plain.session.tokens());
    expect(streaming.progress.at(-1)).toBe(turn.ids.length);
    expect(plain.progress).toEqual([]);
    expect(streaming.server.received[0]?.body).toMatchObject({
      ...plain.server.received[0]?.body,
      stream: true,
      stream_interval: 16,
    });
    expect(plain.server.received[0]?.body).not.toHaveProperty('stream');
  });
});

const SAID: readonly (readonly [string, Said])[] = [
  ['words', { content: 'done, Zürich 漢字 🙂 <DONE>', finish: 'stop' }],
  ['reasoning and words', { reasoning: 'well, "so"', content: 'yes', finish: 'stop' }],
  ['cut off', { content: 'half a', finish: 'length' }],
  [
    'calls',
    {
      reasoning: 'hm',
      calls: [
        { id: 'call_a', name: 'f', args: '{"n": 1, "s": "é\\n"}' },
        { id: 'call_b', name: 'f', args: '{}' },
      ],
      finish: 'tool_calls',
    },
  ],
  [
    'a call with words',
    { content: 'a', calls: [{ id: 'x', name: 'f', args: '{"n":2}' }], finish: 'tool_calls' },
  ],
];

describe.each(CHAT_SHAPES)('chat endpoint: %s', (_name, shape) => {
  test.each(SAID)('a streamed turn equals the whole one: %s', async (_said, turn) => {
    const stream: Reply = { stream: { events: shape.chunks(turn), pieces: 61 } };
    const streaming = await begin(chatPolicy, [stream], { stream: true });
    const plain = await begin(chatPolicy, [{ body: shape.whole(turn) }], { stream: false });
    const [one, other] = [await streaming.turn(), await plain.turn()];
    expect(one).toEqual(other);
    expect(one.message.content).toBe(turn.content ?? '');
    expect(one.message.reasoning).toBe(turn.reasoning ?? '');
    expect(one).toMatchObject({ promptTokens: 9, sampledTokens: 4 });
    expect(streaming.progress.at(-1)).toBeGreaterThan(0);
    // The endpoint hears its own words again, however they came.
    await Promise.all([streaming.turn(), plain.turn()]);
    const [heard, alsoHeard] = [streaming, plain].map(({ server }) => server.received[1]?.body.messages);
    expect(heard).toEqual(alsoHeard);
    expect(streaming.server.received[0]?.body.stream_options).toEqual({ include_usage: true });
  });
});

test('a stream may be cut into packets anywhere', async () => {
  const shape = CHAT_SHAPES[0]![1];
  const turn: Said = { reasoning: 'é', content: '🙂 Zürich\r\n漢', finish: 'stop' };
  const feeds = ['\n', '\r\n', '\r'];
  const events = (feed: string) =>
    shape
      .chunks(turn)
      .map((chunk) => `: ping${feed}${feed}event: x${feed}data:${JSON.stringify(chunk)}${feed}${feed}`);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.constantFrom(...feeds), async (pieces, feed) => {
      const stream: Reply = { stream: { events: events(feed), pieces } };
      const { turn: next } = await begin(chatPolicy, [stream], { stream: true });
      expect((await next()).message).toMatchObject({ reasoning: 'é', content: '🙂 Zürich\r\n漢' });
    }),
    { numRuns: 12 },
  );
});

test('what a server adds of its own is heard by it again', async () => {
  const details = [{ type: 'reasoning.text', text: 'a' }];
  const extra = { google: { thought_signature: 's' } };
  const deltas = [
    { role: 'assistant', reasoning_details: details },
    { reasoning_details: [{ type: 'reasoning.text', text: 'b' }] },
    { tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: '{}' }, extra_content: extra }] },
    // Some repeat id and name in every piece.
    { tool_calls: [{ index: 0, id: 'x', function: { name: 'f', arguments: ' ' } }] },
  ];
  const events: object[] = deltas.map((delta) => ({ choices: [{ delta }] }));
  events.push({
    choices: [{ delta: {}, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
  const { server, turn } = await begin(chatPolicy, [{ stream: { events } }], { stream: true });
  expect((await turn()).message.toolCalls).toEqual([{ id: 'c0', name: 'f', arguments: {} }]);
  await turn();
  const heard = server.received[1]?.body.messages as Record<string, unknown>[];
  expect(heard.find(({ role }) => role === 'assistant')).toMatchObject({
    reasoning_details: [...details, { type: 'reasoning.text', text: 'b' }],
    tool_calls: [
      { id: 'x', type: 'function', function: { name: 'f', arguments: '{} ' }, extra_content: extra },
    ],
  });
});

describe('auto: a stream where the server has one', () => {
  const shape = CHAT_SHAPES[1]![1];
  const turn: Said = { content: 'yes', finish: 'stop' };
  const whole: Reply = { body: shape.whole(turn) };
  const chunks = shape.chunks(turn);

  test.each([
    ['refuses streams', { status: 400, body: { error: { message: 'stream: expected False' } } }, 2],
    ['knows no stream_options', { status: 422, body: { detail: 'extra field stream_options' } }, 2],
    ['streams without usage', { stream: { events: chunks.slice(0, -1) } }, 2],
    ['answers whole', whole, 1],
  ] as [string, Reply, number][])('a server that %s is asked without', async (_name, reply, requests) => {
    const { server, turn: next } = await begin(chatPolicy, [reply, whole], { stream: 'auto' });
    expect((await next()).message.content).toBe('yes');
    expect(server.received).toHaveLength(requests);
    await next();
    // What it has said once holds: no second stream is asked for.
    expect(server.received).toHaveLength(requests + 1);
    expect(server.received.at(-1)?.body.stream).toBe(requests === 2 ? undefined : true);
  });

  test('no other refusal is asked again without a stream', async () => {
    const bad: Reply = { status: 400, body: { error: { message: 'no such parameter' } } };
    const { server, turn: next } = await begin(chatPolicy, [bad], { stream: 'auto' });
    await expect(next()).rejects.toMatchObject({ code: 'http_400' });
    expect(server.received).toHaveLength(1);
  });

  test('with stream: true such a server is a fault that says what to do', async () => {
    const { turn: next } = await begin(chatPolicy, [{ stream: { events: chunks.slice(0, -1) } }], {
      stream: true,
    });
    await expect(next()).rejects.toThrow(/usage.*stream: false/);
  });
});

describe('cancellation', () => {
  const shape = TOKEN_SHAPES[0]![1];

  test.each([
    ['before the first event', []],
    ['in the middle of a stream', shape.chunks(sampled(CALL, [])).slice(0, 3)],
  ] as [string, object[]][])('%s the server sees the caller go', async (_name, events) => {
    const controller = new AbortController();
    const open: Reply = { stream: { events: events.map(withoutPrompt), end: 'hang' } };
    const { server, turn, progress } = await begin(tokenPolicy, [open], { stream: true });
    const ended = expect(turn(controller.signal)).rejects.toThrow('stop');
    await expect.poll(() => server.received.length === 1 && progress.length === events.length).toBe(true);
    expect(progress).toEqual(events.map((_, index) => index + 1));
    controller.abort(new Error('stop'));
    await ended;
    await expect.poll(() => server.received[0]?.gone).toBe(true);
    expect(server.received).toHaveLength(1);
  });

  test('a finished stream leaves its connection to the next turn', async () => {
    const prompt = await firstPrompt();
    const stream: Reply = { stream: { events: shape.chunks(sampled(CALL, prompt)).map(withoutPrompt) } };
    const { server, turn } = await begin(tokenPolicy, [stream], { stream: true });
    await turn();
    await turn();
    expect(server.received.map(({ gone }) => gone)).toEqual([false, false]);
    expect(new Set(server.received.map(({ headers }) => headers.connection))).toEqual(
      new Set(['keep-alive']),
    );
  });
});

/** The prompt differs from turn to turn. */
function withoutPrompt(chunk: object): object {
  const { choices } = chunk as { choices: object[] };
  return { ...chunk, choices: choices.map((choice) => ({ ...choice, prompt_token_ids: null })) };
}
