/** Model files that cannot be used: one error each, which names file and field. */
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../core/faults.js';
import type { JsonObject } from '../../core/message.js';
import { Renderer } from '../../core/render/renderer.js';
import { rendererOf } from './files.js';
import { TOOLS, tool, user } from './messages.js';

const files = () => rendererOf('embedded').files;
const CHATML =
  "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{%- endfor %}{{ '<|im_start|>assistant\\n' }}";

function refusal(make: () => unknown): UsageError {
  try {
    make();
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}

describe('tokenizer_config.json', () => {
  test.each([
    ['no template', { chat_template: null }, 'chat_template', /a template, found/],
    [
      'a list without a default',
      { chat_template: [{ name: 'rag', template: '' }] },
      'chat_template',
      /default, found rag/,
    ],
    ['a template that does not parse', { chat_template: '{% if %}' }, 'chat_template', /Jinja/],
    ['a template that ends in a block', { chat_template: '{% if x %}' }, 'chat_template', /not ended/],
    ['an unknown filter', { chat_template: '{{ messages[0].content | shout }}' }, 'chat_template', /shout/],
    ['an unknown filter with arguments', { chat_template: '{{ "a" | shout(2) }}' }, 'chat_template', /shout/],
    ['an unknown test', { chat_template: '{% if messages is loud %}{% endif %}' }, 'chat_template', /loud/],
    ['an unknown function', { chat_template: '{{ shout(messages) }}' }, 'chat_template', /function/],
    [
      'a template that throws',
      { chat_template: "{{ raise_exception('not today') }}" },
      'chat_template',
      /user, found not today/,
    ],
    [
      'no end of the turn',
      { chat_template: '{{ messages[-1].content }}' },
      'chat_template',
      /<\|im_end\|> right after/,
    ],
    ['no end-of-turn token', { eos_token: null }, 'eos_token', /a token, found null/],
  ] as const)('%s', (_name, change, field, message) => {
    const { tokenizer, config } = files();
    const error = refusal(() => new Renderer({ tokenizer, config: { ...config, ...change } as JsonObject }));
    expect(error.place).toBe(`tokenizer_config.json: ${field}`);
    expect(error.message).toMatch(message);
  });

  test('a template that takes no tools or no results says so with the roles', () => {
    const { tokenizer, config } = files();
    const noTools = `{% if tools %}{{ raise_exception('no tools here') }}{% endif %}${CHATML}`;
    const withTools = new Renderer({ tokenizer, config: { ...config, chat_template: noTools } });
    const first = refusal(() =>
      withTools.first({ systemMessages: ['s'], tools: TOOLS, messages: [user('u')] }),
    );
    expect(first.message).toMatch(/system, user with tools, found no tools here/);
    const noResults = `{% if messages[-1].role == 'tool' %}{{ raise_exception('no results') }}{% endif %}${CHATML}`;
    const plain = new Renderer({ tokenizer, config: { ...config, chat_template: noResults } });
    expect(refusal(() => plain.delta([tool('a')], true)).message).toMatch(
      /user, assistant, tool, found no results/,
    );
  });
});

describe('tokenizer.json', () => {
  test.each([
    ['nothing in it', {}, 'added_tokens', /a list of tokens, found nothing/],
    ['a token without an id', { added_tokens: [{ content: '<x>' }] }, 'added_tokens[0]', /id and content/],
    ['no model', { added_tokens: [] }, 'model', /a model, found nothing/],
    [
      'no vocabulary',
      { added_tokens: [], model: { type: 'BPE' } },
      'model.vocab',
      /a vocabulary, found nothing/,
    ],
  ] as const)('%s', (_name, tokenizer, field, message) => {
    const error = refusal(() => new Renderer({ tokenizer, config: files().config }));
    expect(error.place).toBe(`tokenizer.json: ${field}`);
    expect(error.message).toMatch(message);
  });

  test.each([
    [
      'an unknown kind of model',
      { model: { type: 'Quantum', vocab: {} } },
      'tokenizer.json: model.type',
      /Quantum/,
    ],
    ['an unknown normaliser', { normalizer: { type: 'Shout' } }, 'tokenizer.json: normalizer.type', /Shout/],
    [
      'an unknown splitter',
      { pre_tokenizer: { type: 'Dice' } },
      'tokenizer.json: pre_tokenizer.type',
      /Dice/,
    ],
    [
      'a pattern of no kind',
      { pre_tokenizer: { type: 'Split', pattern: {} } },
      'tokenizer.json: pre_tokenizer.pattern',
      /Regex or String/,
    ],
    ['an unknown decoder', { decoder: { type: 'Enigma' } }, 'tokenizer.json: decoder.type', /Enigma/],
    [
      'no end-of-turn token',
      { added_tokens: [{ id: 9, content: '<|im_start|>' }] },
      'tokenizer.json: added_tokens',
      /<\|im_end\|>/,
    ],
    [
      "not all of the template's control tokens",
      { added_tokens: [{ id: 9, content: '<|im_end|>' }] },
      'tokenizer.json: added_tokens',
      /control token <\|im_start\|>/,
    ],
  ] as const)('%s', (_name, change, place, message) => {
    const { tokenizer, config } = files();
    const changed = { ...tokenizer, ...change } as unknown as JsonObject;
    const error = refusal(() => new Renderer({ tokenizer: changed, config }));
    expect(error.place).toBe(place);
    expect(error.message).toMatch(message);
  });
});
