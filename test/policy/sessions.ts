/** Sessions of both policies against a server that a test wrote. */
import { createChatPolicy } from '../../activities/policy/chat-policy.js';
import type { Endpoint } from '../../activities/policy/endpoint.js';
import { createTokenPolicy } from '../../activities/policy/token-policy.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Message } from '../../core/message.js';
import type { Policy } from '../../core/policy.js';
import type { Renderer } from '../../core/render/renderer.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { MODELS } from '../render/files.js';
import { type Reply, serve } from './server.js';

export const WEIGHTS = 'sha256:w';
export const renderer = (): Renderer => MODELS[MODELS.length - 1]![1]();
export const user = (content: string): Message => ({ role: 'user', content });

type Options = Partial<Pick<Endpoint, 'stream' | 'idleMs' | 'model'>>;

export function tokenPolicy(baseUrl: string, options: Options = {}): Policy {
  const endpoint: Endpoint = { kind: 'policy', baseUrl, model: WEIGHTS, apiKeyEnv: null, ...options };
  return createTokenPolicy({
    endpoint,
    renderer: renderer(),
    format: outputFormat('qwen3_xml'),
    contextTokens: 4_096,
  });
}

export function chatPolicy(baseUrl: string, options: Options = {}): Policy {
  return createChatPolicy({ kind: 'policy', baseUrl, model: 'm', apiKeyEnv: null, ...options });
}

/** Begins an episode against these replies; `turn` says something as the user. */
export async function begin(
  make: (baseUrl: string, options?: Options) => Policy,
  replies: readonly Reply[],
  options: Options = {},
) {
  const server = await serve(replies);
  const session = await make(server.baseUrl, options).begin({
    systemMessages: ['s'],
    tools: [{ name: 'f', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } }],
    seed: '7',
    sampling: SAMPLING,
    maxPromptTokens: EPISODE_LIMITS.promptTokens,
  });
  const progress: number[] = [];
  const turn = (signal = new AbortController().signal, maxTokens = 500) =>
    session.turn([user('please help .')], {
      maxTokens,
      signal,
      onProgress: (count) => {
        progress.push(count);
      },
    });
  return { server, session, turn, progress };
}
