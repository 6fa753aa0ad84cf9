/** API models: chat completions with tools. No token ids, so nothing to train on; same agent loop. */
import type OpenAI from 'openai';
import { Fault } from '../../core/faults.js';
import type { AssistantMessage, Message } from '../../core/message.js';
import type { Policy, PolicyRequest, PolicySession, PolicyTurn, TurnLimits } from '../../core/policy.js';
import { chatFold } from './chat-chunks.js';
import { type ChatReply, readChatReply } from './chat-reply.js';
import { contextFull } from './context-full.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { complete } from './exchange.js';
import { readWireCalls } from './read-turn.js';

type WireMessage = OpenAI.ChatCompletionMessageParam;

/** The last chunk of a stream then carries what the turn cost. */
const STREAMED = { stream_options: { include_usage: true } } as const;

/** Room for an answer that is not worth asking for: less than one short call. */
const LEAST_ROOM = 256;

/** What the limit of a turn is called: OpenAI's newer models refuse the old word. */
type LimitWord = 'max_tokens' | 'max_completion_tokens';
/** The word of models that have refused the old one, by URL and name. */
const words = new Map<string, LimitWord>();

export function createChatPolicy(endpoint: Endpoint): Policy {
  return { kind: 'chat', begin: async (begin) => new ChatSession(endpoint, begin) };
}

class ChatSession implements PolicySession {
  readonly place: string;
  private readonly messages: WireMessage[];
  private readonly tools: OpenAI.ChatCompletionTool[];
  private turns = 0;
  private calls = 0;
  /** Tokens that the context had room for at last; it only gets narrower. */
  private room = Number.POSITIVE_INFINITY;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly begin: PolicyRequest,
  ) {
    this.place = placeOf(endpoint);
    const system = begin.systemMessages.join('\n\n');
    this.messages = system === '' ? [] : [{ role: 'system', content: system }];
    this.tools = begin.tools.map(({ name, description, inputSchema }) => ({
      type: 'function',
      function: {
        name,
        parameters: { ...inputSchema },
        ...(description === undefined ? {} : { description }),
      },
    }));
  }

  /** Ids of the endpoint's own calls, by ours: it must hear its own words again. */
  private readonly wireIds = new Map<string, string>();

  async turn(observations: readonly Message[], limits: TurnLimits): Promise<PolicyTurn> {
    this.messages.push(...observations.map((message) => this.wire(message)));
    const { message, content, reasoning, calls, ...rest } = await this.ask(limits);
    this.turns += 1;
    this.messages.push(message);
    const { toolCalls, refused } = readWireCalls(calls, this.calls);
    this.calls += toolCalls.length;
    for (const [index, { id }] of toolCalls.entries()) this.wireIds.set(id, calls[index]!.id);
    return {
      message: { role: 'assistant', reasoning, content, toolCalls },
      problems: [...refused.values()],
      refused,
      raw: JSON.stringify({ content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }),
      weightVersion: undefined,
      ...rest,
    };
  }

  tokens(): undefined {
    return undefined;
  }

  /**
   * One turn, with as many tokens as the context has room for. Servers that count the tokens asked for against the
   * context refuse a conversation that still fits, and do not say how much of it is left: half is asked for, and again
   * half, as the token policy would have asked for the rest.
   */
  private async ask(limits: TurnLimits): Promise<ChatReply> {
    for (let maxTokens = Math.min(limits.maxTokens, this.room); ; ) {
      const word = words.get(this.modelId) ?? 'max_tokens';
      try {
        const reply = readChatReply(this.endpoint, await this.send(word, maxTokens, limits), this.calls);
        if (maxTokens < limits.maxTokens) this.room = maxTokens;
        return reply;
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (word === 'max_tokens' && this.wantsNewWord(error)) continue;
        if (error.code !== 'context_full') throw error;
        maxTokens = Math.floor(maxTokens / 2);
        if (maxTokens < LEAST_ROOM) throw contextFull(error.message, this.turns);
      }
    }
  }

  private get modelId(): string {
    return `${this.endpoint.baseUrl} ${this.endpoint.model}`;
  }

  private wantsNewWord({ code, message }: Fault): boolean {
    const wants = code === 'http_400' && message.includes('max_completion_tokens');
    if (wants) words.set(this.modelId, 'max_completion_tokens');
    return wants;
  }

  private send(word: LimitWord, maxTokens: number, { signal, onProgress }: TurnLimits): Promise<unknown> {
    const { endpoint, begin } = this;
    const body: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      model: endpoint.model,
      messages: this.messages,
      [word]: maxTokens,
      temperature: begin.sampling.temperature,
      top_p: begin.sampling.topP,
      ...(this.tools.length > 0 ? { tools: this.tools } : {}),
    };
    const stream = { body: STREAMED, fold: () => chatFold(endpoint), maxTokens, onProgress };
    return complete(endpoint, { path: '/chat/completions', body: { ...body }, signal, stream });
  }

  private wire(message: Message): WireMessage {
    if (message.role === 'tool') {
      const id = this.wireIds.get(message.callId);
      // A notice answers no call, and the API takes tool messages only in answer to one.
      return id === undefined
        ? { role: 'user', content: message.content }
        : { role: 'tool', tool_call_id: id, content: message.content };
    }
    if (message.role === 'assistant') return this.earlier(message);
    return { role: message.role, content: message.content };
  }

  /** A turn of the conversation that the task begins with. */
  private earlier({ content, toolCalls }: AssistantMessage): WireMessage {
    for (const { id } of toolCalls) this.wireIds.set(id, id);
    const calls = toolCalls.map(({ id, name, arguments: args, argumentsText }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: argumentsText ?? JSON.stringify(args) },
    }));
    return { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  }
}
