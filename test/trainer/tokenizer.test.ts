/** One tokenizer, two readers: the trainer's own, and `@huggingface/tokenizers` behind the renderer. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject, Message } from '../../core/message.js';
import { Renderer } from '../../core/render/renderer.js';
import { Tokens } from '../../core/render/tokens.js';
import { demonstrate } from '../../suites/deskbench/demonstrations.js';
import { LEXICON } from '../../suites/deskbench/lexicon.js';
import { BASE, post, type RunningTrainer, startTrainer } from './server.js';

const read = (name: string) => JSON.parse(readFileSync(path.join(BASE, name), 'utf8')) as JsonObject;
const tokenizer = read('tokenizer.json');
const config = read('tokenizer_config.json');
const tokens = new Tokens(tokenizer, config);

let trainer: RunningTrainer;
beforeAll(async () => {
  trainer = await startTrainer();
});
afterAll(() => trainer.end('SIGTERM'));

async function idsFromTrainer(text: string): Promise<number[]> {
  const { value } = await post<{ tokens: number[] }>(`${trainer.url}/tokenize`, {
    prompt: text,
    add_special_tokens: false,
  });
  return value.tokens;
}

const added = (tokenizer.added_tokens as unknown as { content: string }[]).map((token) => token.content);
const fragment = fc.oneof(
  fc.constantFrom(...added, ...LEXICON.words.map((word) => ` ${word}`), ...LEXICON.words),
  fc.constantFrom('r417', ' $80', '\n', '  ', '<0x41>', '\ufeff', 'Ünïcode', '日本語', '🙂', '<|im_', '\r\n'),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
);
const text = fc.array(fragment, { maxLength: 10 }).map((parts) => parts.join(''));

test('both give the same ids for any text, and decode to it', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (sample) => {
      const ids = tokens.encode(sample);
      expect(await idsFromTrainer(sample)).toEqual(ids);
      if (ids.length === 0) return;
      expect(tokens.decode(ids)).toBe(sample);
      const { value } = await post<{ prompt: string }>(`${trainer.url}/detokenize`, { tokens: ids });
      expect(value.prompt).toBe(sample);
    }),
    { numRuns: 300 },
  );
});

test('every word of the lexicon is one token after a space, and so is every fixed piece', () => {
  for (const word of LEXICON.words) expect(tokens.encode(` ${word}`), word).toHaveLength(1);
  for (const name of LEXICON.tools) expect(tokens.encode(`<function=${name}>\n`), name).toHaveLength(1);
  for (const name of LEXICON.parameters) expect(tokens.encode(`<parameter=${name}>\n`), name).toHaveLength(1);
  for (const prefix of LEXICON.prefixes) expect(tokens.encode(` ${prefix}417`)).toHaveLength(4);
});

test('the trainer serves the files that it reads', async () => {
  const served = (await (await fetch(`${trainer.url}/tokenizer`)).json()) as JsonObject;
  expect(served).toEqual({ tokenizer, config });
});

test('conversations of the suite stay short and need no byte fallback', () => {
  const renderer = new Renderer({ tokenizer, config });
  for (let n = 0; n < 60; n++) {
    const messages = demonstrate('length', n).demonstration.messages as unknown as (Message & {
      reasoning_content?: string;
    })[];
    const rendered = renderer.firstPromptText({
      systemMessages: [],
      tools: [],
      messages: messages.map((message) =>
        message.role === 'assistant'
          ? { role: 'assistant', reasoning: '', content: message.content, toolCalls: [] }
          : message,
      ) as Message[],
    });
    const ids = tokens.encode(rendered);
    expect(ids.length).toBeLessThan(300);
    expect(ids.filter((id) => id < 256)).toEqual([]);
  }
});
