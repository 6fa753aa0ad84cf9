/**
 * The whole buffer of an episode against the full render of its conversation, with real tokenizers and templates, for
 * a policy that samples exactly what the template would write. See docs/render.md for what "equals" means.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Message } from '../../core/message.js';
import { type FirstPrompt, Renderer } from '../../core/render/renderer.js';
import { type Conversation, conversation, turnsOf } from '../render-parity/conversations.js';
import type { ModelName } from '../render-parity/models.js';
import { digestOf } from '../render-parity/vectors.js';
import { ALL_MODELS, LOAD_MS, MODELS, rendererOf } from './files.js';
import { said, TOOLS, tool, user } from './messages.js';

beforeAll(() => {
  for (const [, load] of ALL_MODELS) load();
}, LOAD_MS);

/** The model with a template that keeps the reasoning of earlier turns, as a growing buffer does. */
function keeping(renderer: Renderer): Renderer {
  const { tokenizer, config } = renderer.files;
  const rewrites = 'loop.index0 > ns.last_query_index';
  const chat_template = String(config.chat_template).replace(rewrites, 'true');
  // The tokenizer is the same; only the template is asked.
  return new Renderer({ tokenizer: { ...tokenizer, model: EMPTY }, config: { ...config, chat_template } });
}
const EMPTY = { type: 'BPE', vocab: {}, merges: [] };

/** What a policy's buffer holds when it samples what `whole` writes for its turns. */
function play(renderer: Renderer, whole: (prompt: FirstPrompt) => string, talk: Conversation): number[] {
  const turns = turnsOf(talk);
  const upTo = (end: number): Conversation => ({ ...talk, messages: talk.messages.slice(0, end) });
  const buffer = renderer.first(upTo(turns[0]!));
  turns.slice(1).forEach((end, index) => {
    const from = turns[index]!;
    const delta = renderer.delta(talk.messages.slice(from + 1, end), true);
    const [before, after] = [whole(upTo(from)), whole(upTo(end))];
    expect(after.startsWith(before)).toBe(true);
    const tail = renderer.tokens.decode(delta);
    expect(after.endsWith(tail)).toBe(true);
    const written = after.slice(before.length, after.length - tail.length);
    expect(written.endsWith('<|im_end|>')).toBe(true);
    buffer.push(...renderer.tokens.encode(written), ...delta);
  });
  return buffer;
}

/** Composed as tokenizers compose it, so that decoded text compares as a string. */
function composed(talk: Conversation, reasoning: (text: string) => string): Conversation {
  const normal = JSON.parse(JSON.stringify(talk).normalize('NFC')) as Conversation;
  const messages = normal.messages.map((m) =>
    m.role === 'assistant' ? { ...m, reasoning: reasoning(m.reasoning) } : m,
  );
  return { ...normal, messages };
}

const MODELS_WITHOUT_REASONING: readonly ModelName[] = ['qwen3.5-nothink'];

describe.each(ALL_MODELS)('%s', (name, load) => {
  test('the buffer is the full render, token by token', () => {
    const renderer = load();
    const reference = keeping(renderer);
    const silent = MODELS_WITHOUT_REASONING.includes(name);
    let turns = 0;
    for (let index = 0; index < 40; index++) {
      const talk = composed(conversation(3, index), (text) => (silent ? '' : text || 'hm .'));
      const whole = (prompt: FirstPrompt) => reference.firstPromptText(prompt);
      expect(play(renderer, whole, talk), `conversation ${index}`).toEqual(
        renderer.tokens.encode(whole(talk)),
      );
      turns += turnsOf(talk).length;
    }
    expect(turns).toBeGreaterThan(80);
  });

  test('within one question the template itself rewrites nothing', () => {
    const renderer = load();
    const silent = MODELS_WITHOUT_REASONING.includes(name);
    const reasoning = (text: string) => (silent ? '' : text);
    const calls = (...ids: string[]) =>
      ids.map((id) => ({ id, name: 'get_order', arguments: { order: 'r417', deep: { n: [1, null] } } }));
    const messages: Message[] = [
      user('please refund order r417 .'),
      said('', { reasoning: reasoning('look it up .'), toolCalls: calls('c0') }),
      tool('order r417 total $80 .'),
      said('one moment .', { reasoning: reasoning('both .'), toolCalls: calls('c1', 'c2') }),
      tool('first .'),
      tool('second .'),
      said('which reason ?', { reasoning: reasoning('ask .') }),
      user('too late .'),
    ];
    // The last user message starts another question: what comes before it is compared without it.
    const talk = {
      systemMessages: ['retail desk .', 'be short .'],
      tools: TOOLS,
      messages: messages.slice(0, 6),
    };
    const whole = (prompt: FirstPrompt) => renderer.firstPromptText(prompt);
    expect(play(renderer, whole, talk)).toEqual(renderer.tokens.encode(whole(talk)));
    // Every delta is the tail of the full render, whatever the template makes of the turns before.
    const all = { ...talk, messages };
    const delta = renderer.delta(messages.slice(7), true);
    expect(renderer.tokens.encode(whole(all)).slice(-delta.length)).toEqual(delta);
  });
});

test('prompts have the tokens that Python makes of them', () => {
  const file = new URL('./vectors/parity.json', import.meta.url);
  const { seed, ids } = JSON.parse(readFileSync(file, 'utf8')) as {
    seed: number;
    ids: Record<string, string[]>;
  };
  expect(Object.keys(ids)).toEqual(ALL_MODELS.map(([name]) => name));
  for (const [name, load] of ALL_MODELS) {
    const renderer = load();
    const ours = ids[name]!.map((_, index) => {
      const talk = conversation(seed, index);
      const prompts = turnsOf(talk).map((end) => ({ ...talk, messages: talk.messages.slice(0, end) }));
      return digestOf(prompts.map((prompt) => renderer.tokens.encode(renderer.firstPromptText(prompt))));
    });
    expect(ours, name).toEqual(ids[name]);
  }
});

test.each(MODELS)('%s: a first prompt may hold turns of the agent, each its own', (_name, load) => {
  const renderer = load();
  const toolCalls = (order: string) => [{ id: 'c0', name: 'get_order', arguments: { order } }];
  for (const changes of [
    {},
    { reasoning: 'r' },
    { toolCalls: toolCalls('r1') },
    { toolCalls: toolCalls('r2') },
  ]) {
    const messages = [user('u'), said('a', changes), tool('b'), user('c')];
    const prompt = { systemMessages: ['s'], tools: TOOLS, messages };
    expect(renderer.first(prompt)).toEqual(renderer.tokens.encode(renderer.firstPromptText(prompt)));
  }
});

describe('what a delta holds', () => {
  test.each(MODELS)(
    '%s: what a tool says to the user itself, as in the whole conversation',
    (_name, load) => {
      const renderer = load();
      const direct: Message = { ...said('a tool speaks .'), direct: true };
      const toolCalls = [{ id: 'c0', name: 'get_order', arguments: { order: 'r1' } }];
      const before = [user('u'), said('', { toolCalls })];
      const delta = renderer.delta([tool('b'), direct], true);
      const whole = renderer.firstPromptText({
        systemMessages: ['s'],
        tools: TOOLS,
        messages: [...before, tool('b'), direct],
      });
      expect(renderer.tokens.encode(whole).slice(-delta.length)).toEqual(delta);
      expect(renderer.tokens.decode(delta)).toContain('a tool speaks .');
    },
  );

  test.each([
    ['qwen3', ''],
    ['qwen3.5', '<think>\n'],
  ] as const)(
    '%s: the newline after the end of the turn, results in one turn, the next turn',
    (name, opening) => {
      const renderer = rendererOf(name);
      const text = renderer.tokens.decode(renderer.delta([tool('a .'), tool('b .')], true));
      expect(text).toBe(
        '\n<|im_start|>user\n<tool_response>\na .\n</tool_response>\n<tool_response>\nb .\n</tool_response><|im_end|>\n' +
          `<|im_start|>assistant\n${opening}`,
      );
    },
  );

  test.each(MODELS)('%s: a turn that was cut off is ended first', (_name, load) => {
    const renderer = load();
    const delta = renderer.delta([user('go on .')], false);
    expect(delta[0]).toBe(renderer.stopIds[0]);
    expect(delta.slice(1)).toEqual(renderer.delta([user('go on .')], true));
  });

  test.each(MODELS)('%s: a remembered shape gives the ids of a fresh render', (_name, load) => {
    const renderer = load();
    const contents = [
      '',
      ' ',
      '\n',
      '  lead',
      'trail  ',
      'é 漢字 🙂',
      '{"a": [1, "x"]}',
      "don't",
      'a\r\nb',
      '\ufeffx\x85',
    ];
    for (const content of contents) {
      for (const observation of [tool(content), user(content)]) {
        const before = [user('u'), said('a')];
        const messages = [...before, observation];
        const whole = renderer.tokens.encode(
          renderer.firstPromptText({ systemMessages: [], tools: [], messages }),
        );
        for (const round of ['once', 'again']) {
          const delta = renderer.delta([observation], true);
          expect(whole.slice(-delta.length), `${round} ${JSON.stringify(content)}`).toEqual(delta);
        }
      }
      const prompt = { systemMessages: ['s'], tools: TOOLS, messages: [user(content)] };
      expect(renderer.first(prompt), JSON.stringify(content)).toEqual(
        renderer.tokens.encode(renderer.firstPromptText(prompt)),
      );
    }
  });
});

describe('options of the template', () => {
  test('enable_thinking false ends the prompt with closed reasoning', () => {
    const { files } = rendererOf('qwen3.5');
    const small = { ...files, tokenizer: { ...files.tokenizer, model: EMPTY } };
    const prompt = { systemMessages: [], tools: [], messages: [user('u')] };
    expect(new Renderer(small).firstPromptText(prompt)).toMatch(/<think>\n$/);
    expect(
      new Renderer({ ...small, templateOptions: { enable_thinking: false } }).firstPromptText(prompt),
    ).toMatch(/<think>\n\n<\/think>\n\n$/);
  });

  test('preserve_thinking is what a buffer holds', () => {
    const { files } = rendererOf('qwen3.6');
    const small = { ...files, tokenizer: { ...files.tokenizer, model: EMPTY } };
    const preserving = new Renderer({ ...small, templateOptions: { preserve_thinking: true } });
    const talk = {
      systemMessages: [],
      tools: TOOLS,
      messages: [
        user('a'),
        said('b', { reasoning: 'r' }),
        user('c'),
        said('d', { reasoning: 's' }),
        user('e'),
      ],
    };
    expect(preserving.firstPromptText(talk)).toBe(keeping(rendererOf('qwen3.6')).firstPromptText(talk));
    expect(preserving.firstPromptText(talk)).not.toBe(new Renderer(small).firstPromptText(talk));
  });
});
