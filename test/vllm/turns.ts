/** The same turn asked of a vLLM server twice: as tokens, read by our code, and as a chat, read by vLLM's own parsers. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createTokenPolicy } from '../../activities/policy/token-policy.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Json, JsonObject, Message, ToolSpec } from '../../core/message.js';
import type { PolicyTurn, Sampling } from '../../core/policy.js';
import { Renderer } from '../../core/render/renderer.js';
import { seedOf } from '../../core/seed.js';
import type { VllmServer } from './engine.js';

export const SAMPLING: Sampling = { temperature: 1, topK: 20, topP: 0.95 };
const MAX_TOKENS = 48;

export interface Ask {
  readonly systemMessages: readonly string[];
  readonly tools: readonly ToolSpec[];
  readonly user: string;
  readonly seed: string;
}

export async function rendererOf({ folder }: VllmServer): Promise<Renderer> {
  const read = async (name: string): Promise<JsonObject> =>
    JSON.parse(await readFile(path.join(folder, name), 'utf8')) as JsonObject;
  return new Renderer({
    tokenizer: await read('tokenizer.json'),
    config: await read('tokenizer_config.json'),
  });
}

export interface OurTurn {
  readonly turn: PolicyTurn;
  readonly promptIds: readonly number[];
  readonly sampledIds: readonly number[];
  readonly logprobs: readonly number[];
}

/** Through the token policy. */
export async function askTokens(
  server: VllmServer,
  renderer: Renderer,
  { systemMessages, tools, user, seed }: Ask,
  options: { readonly stream: boolean; readonly sampling?: Sampling } = { stream: false },
): Promise<OurTurn> {
  const { url, model } = server;
  const policy = createTokenPolicy({
    endpoint: { kind: 'policy', baseUrl: url, model, apiKeyEnv: null, stream: options.stream },
    renderer,
    format: outputFormat('qwen3_xml'),
    contextTokens: model === 'embedded' ? 512 : 4_096,
  });
  const sampling = options.sampling ?? SAMPLING;
  const session = await policy.begin({ systemMessages, tools, seed, sampling, maxPromptTokens: 4_000 });
  const said: Message = { role: 'user', content: user };
  const signal = new AbortController().signal;
  const turn = await session.turn([said], { maxTokens: MAX_TOKENS, signal });
  const tokens = session.tokens()!;
  const start = tokens.sampled.indexOf(1);
  return {
    turn,
    promptIds: [...tokens.ids.subarray(0, start)],
    sampledIds: [...tokens.ids.subarray(start)],
    logprobs: [...tokens.logprobs.subarray(start)],
  };
}

export interface TheirTurn {
  readonly promptIds: readonly number[];
  readonly sampledIds: readonly number[];
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: Json }[];
}

/** Through `/v1/chat/completions`: vLLM renders, samples and parses. */
export async function askChat({ url, model }: VllmServer, ask: Ask): Promise<TheirTurn> {
  const reply = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [
        ...(ask.systemMessages.length > 0
          ? [{ role: 'system', content: ask.systemMessages.join('\n\n') }]
          : []),
        { role: 'user', content: ask.user },
      ],
      // vLLM refuses an empty list.
      ...(ask.tools.length > 0 && { tools: ask.tools.map(wireTool) }),
      temperature: SAMPLING.temperature,
      top_k: SAMPLING.topK,
      top_p: SAMPLING.topP,
      seed: seedOf(ask.seed, 0),
      max_tokens: MAX_TOKENS,
      return_token_ids: true,
    }),
  });
  const body = (await reply.json()) as ChatReply;
  if (!reply.ok) throw new Error(`HTTP ${reply.status}: ${JSON.stringify(body)}`);
  const choice = body.choices[0]!;
  const { content, reasoning, tool_calls: calls } = choice.message;
  return {
    promptIds: body.prompt_token_ids,
    sampledIds: choice.token_ids,
    content: (content ?? '').trim(),
    reasoning: (reasoning ?? '').trim(),
    calls: (calls ?? []).map(({ function: call }) => ({
      name: call.name,
      arguments: JSON.parse(call.arguments) as Json,
    })),
  };
}

function wireTool({ name, description, inputSchema }: ToolSpec): object {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

interface ChatReply {
  readonly prompt_token_ids: number[];
  readonly choices: readonly {
    readonly token_ids: number[];
    readonly message: {
      readonly content: string | null;
      readonly reasoning?: string | null;
      readonly tool_calls?: readonly { readonly function: { name: string; arguments: string } }[];
    };
  }[];
}
