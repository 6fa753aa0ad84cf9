/**
 * The trainable policy: token ids in, token ids and log-probabilities out.
 *
 * The buffer is the truth. Each turn appends a delta of prompt ids, sends the whole buffer, and appends exactly what
 * came back; nothing that was sampled is ever tokenised again.
 */
import type { CompletionCreateParams } from 'openai/resources/completions';
import { Fault } from '../../core/faults.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import type { Message } from '../../core/message.js';
import type { Policy, PolicyRequest, PolicySession, PolicyTurn, TurnLimits } from '../../core/policy.js';
import type { Renderer } from '../../core/render/renderer.js';
import type { Tokens } from '../../core/render/tokens.js';
import { seedOf } from '../../core/seed.js';
import { type Asked, type Completion, completionFold, IDS, readCompletion } from './completion.js';
import { contextFull } from './context-full.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { complete } from './exchange.js';
import { readText } from './read-turn.js';
import { TokenBuffer } from './token-buffer.js';
import { unreadable } from './unreadable.js';

export interface TokenPolicyOptions {
  /** `model` is the weight version that every turn must come from. */
  readonly endpoint: Endpoint;
  readonly renderer: Renderer;
  readonly format: OutputFormat;
  /** Tokens that the model can look at, prompt and samples together. */
  readonly contextTokens: number;
}

/** What vLLM adds to the request of the completions API. */
type TokenRequest = CompletionCreateParams & {
  readonly top_k: number;
  readonly stop_token_ids: readonly number[];
  readonly return_token_ids: true;
};

/**
 * What a stream is asked for beside that. Chunks of several tokens, where the server can (vLLM): a chunk costs the same
 * whatever it holds, and nobody watches token by token.
 */
const STREAMED = { stream_interval: 16 } as const;

export function createTokenPolicy(options: TokenPolicyOptions): Policy {
  return { kind: 'token', begin: async (begin) => new TokenSession(options, begin) };
}

class TokenSession implements PolicySession {
  readonly place: string;
  private readonly buffer = new TokenBuffer();
  private turns = 0;
  private calls = 0;
  /** Whether the last sampled token ended the turn; a turn that was cut off is ended by the next delta. */
  private ended = true;

  constructor(
    private readonly options: TokenPolicyOptions,
    private readonly begin: PolicyRequest,
  ) {
    this.place = placeOf(options.endpoint);
  }

  async turn(observations: readonly Message[], limits: TurnLimits): Promise<PolicyTurn> {
    const ids = this.turns === 0 ? this.firstPrompt(observations) : this.delta(observations);
    const promptTokens = this.buffer.length + ids.length;
    const room = this.options.contextTokens - promptTokens;
    if (room <= 0) {
      const message = `${promptTokens} tokens of conversation do not fit a context of ${this.options.contextTokens}`;
      throw contextFull(message, this.turns);
    }
    this.buffer.append(ids);
    const completion = await this.complete(Math.min(limits.maxTokens, room), limits);
    this.turns += 1;
    this.buffer.appendSampled(completion);
    const { renderer, format } = this.options;
    const sampled = Array.from(completion.ids);
    this.ended = renderer.stopIds.includes(sampled.at(-1) ?? -1);
    const raw = renderer.tokens.decode(sampled);
    const { message, problems, refused } = readText(format, raw, this.begin.tools, this.calls);
    this.calls += message.toolCalls.length;
    return {
      message,
      finishReason: completion.finishReason,
      problems,
      ...(refused.size > 0 ? { refused } : {}),
      raw,
      promptTokens,
      sampledTokens: sampled.length,
      weightVersion: completion.weightVersion,
    };
  }

  tokens() {
    return this.buffer.tokens();
  }

  private firstPrompt(messages: readonly Message[]): number[] {
    const { systemMessages, tools, maxPromptTokens } = this.begin;
    const ids = this.options.renderer.first({ systemMessages, tools, messages });
    if (ids.length > maxPromptTokens) {
      const message = `the first prompt has ${ids.length} tokens, allowed are ${maxPromptTokens}`;
      throw new Fault('policy', message, { code: 'prompt_too_long', retry: false });
    }
    return ids;
  }

  private delta(observations: readonly Message[]): number[] {
    return this.options.renderer.delta(observations, this.ended);
  }

  private async complete(maxTokens: number, { signal, onProgress }: TurnLimits): Promise<Completion> {
    const { endpoint, renderer } = this.options;
    const { sampling, seed } = this.begin;
    const prompt = this.buffer.prompt();
    const asked: Asked = { weightVersion: endpoint.model, maxTokens, prompt };
    const body: TokenRequest = {
      model: endpoint.model,
      prompt,
      max_tokens: maxTokens,
      temperature: sampling.temperature,
      top_k: sampling.topK,
      top_p: sampling.topP,
      seed: wireSeed(seedOf(seed, this.turns)),
      stop_token_ids: renderer.stopIds,
      logprobs: 0,
      return_token_ids: true,
    };
    const fold = () => completionFold(endpoint, asked);
    const stream = { body: STREAMED, fold, maxTokens, onProgress };
    try {
      const reply = await complete(endpoint, { path: '/completions', body: { ...body }, signal, stream });
      const completion = readCompletion(endpoint, reply, asked);
      requireKnown(endpoint, renderer.tokens, completion.ids);
      return completion;
    } catch (error) {
      // The server's context is smaller than it says.
      if (error instanceof Fault && error.code === 'context_full')
        throw contextFull(error.message, this.turns);
      throw error;
    }
  }
}

/** Ids that no model with this tokenizer has: the endpoint serves another one. */
function requireKnown(endpoint: Endpoint, tokens: Tokens, ids: Int32Array): void {
  const at = ids.findIndex((id) => !tokens.canSample(id));
  if (at < 0) return;
  throw unreadable(endpoint, IDS, 'ids of the tokenizer', `${ids[at]} at ${at}, which is no token of it`);
}

/** 63 bits do not fit a JavaScript number: the seed travels as a decimal string, which servers read as an integer. */
function wireSeed(seed: string): number {
  const value = Number(seed);
  return Number.isSafeInteger(value) ? value : (seed as unknown as number);
}
