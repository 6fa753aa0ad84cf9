/** Several leading system messages are one, joined by a blank line, for a policy that trains and for an API model. */
import { expect, test } from 'vitest';
import { createChatPolicy } from '../../activities/policy/chat-policy.js';
import { createTokenPolicy } from '../../activities/policy/token-policy.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { serve } from '../policy/server.js';
import { rendererOf } from './files.js';
import { user } from './messages.js';

test.each([
  ['none', [], undefined],
  ['one', ['retail desk .'], 'retail desk .'],
  ['several', ['retail desk .', 'be short .', ' and kind . '], 'retail desk .\n\nbe short .\n\n and kind . '],
  ['empty ones', ['', ''], '\n\n'],
  ['an empty one', [''], undefined],
] as const)('%s', async (_name, systemMessages, expected) => {
  const server = await serve([{ status: 400, body: { error: { message: 'no' } } }]);
  const endpoint = { kind: 'policy', baseUrl: server.baseUrl, model: 'm', apiKeyEnv: null } as const;
  const renderer = rendererOf('embedded');
  const token = createTokenPolicy({
    endpoint,
    renderer,
    format: outputFormat('qwen3_xml'),
    contextTokens: 4_096,
  });
  const request = { systemMessages, tools: [], seed: '7', sampling: SAMPLING };
  for (const policy of [createChatPolicy(endpoint), token]) {
    const session = await policy.begin({ ...request, maxPromptTokens: EPISODE_LIMITS.promptTokens });
    const turn = session.turn([user('u')], { maxTokens: 5, signal: new AbortController().signal });
    await expect(turn).rejects.toMatchObject({ kind: 'policy' });
  }
  const [chat, completion] = server.received.map(({ body }) => body);
  const messages = chat!.messages as { role: string; content: string }[];
  expect(messages[0]).toEqual(
    expected === undefined ? { role: 'user', content: 'u' } : { role: 'system', content: expected },
  );
  const prompt = renderer.tokens.decode(completion!.prompt as number[]);
  const system = expected === undefined ? '' : `<|im_start|>system\n ${expected}<|im_end|>\n`;
  expect(prompt).toBe(`${system}<|im_start|>user\n u<|im_end|>\n<|im_start|>assistant\n<think>\n`);
});
