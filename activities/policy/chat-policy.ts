/** API models: chat completions with tools. No token ids, so nothing to train on; same agent loop. */
import type OpenAI from 'openai';
import { Fault } from '../../core/faults.js';
import type { Message } from '../../core/message.js';
import type { Policy, PolicyRequest, PolicySession, PolicyTurn } from '../../core/policy.js';
import { ENDED_BY_MODEL, excerpt } from './chat-model.js';
import { type Endpoint, openAi, placeOf } from './endpoint.js';
import { readWireCalls } from './read-turn.js';
import { request } from './retry.js';

type WireMessage = OpenAI.ChatCompletionMessageParam;
type WireCall = OpenAI.ChatCompletionMessageToolCall;

export function createChatPolicy(endpoint: Endpoint): Policy {
  return { kind: 'chat', begin: async (begin) => new ChatSession(endpoint, begin) };
}

class ChatSession implements PolicySession {
  private readonly messages: WireMessage[];
  private readonly tools: OpenAI.ChatCompletionTool[];
  private calls = 0;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly begin: PolicyRequest,
  ) {
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

  async turn(
    observations: readonly Message[],
    limits: { readonly maxTokens: number; readonly signal: AbortSignal },
  ): Promise<PolicyTurn> {
    this.messages.push(...observations.map((message) => this.wire(message)));
    const { endpoint, begin } = this;
    const body: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      model: endpoint.model,
      messages: this.messages,
      max_tokens: limits.maxTokens,
      temperature: begin.sampling.temperature,
      top_p: begin.sampling.topP,
      ...(this.tools.length > 0 ? { tools: this.tools } : {}),
    };
    const { signal } = limits;
    const reply = await request(endpoint, signal, () =>
      openAi(endpoint).chat.completions.create(body, { signal }),
    );
    const choice = typeof reply === 'object' ? reply.choices?.[0] : undefined;
    if (!choice?.message) throw this.unreadable('choices[0].message', reply);
    const { message, finish_reason: reason } = choice;
    if (reason === 'content_filter') {
      const text = `${placeOf(endpoint)} withheld its answer (content_filter)`;
      throw new Fault(endpoint.kind, text, { code: 'content_filter', retry: false });
    }
    if (!ENDED_BY_MODEL.has(reason)) throw this.unreadable('choices[0].finish_reason', reason);
    this.messages.push(message);
    const wireCalls: readonly WireCall[] = message.tool_calls ?? [];
    const { toolCalls, refused } = readWireCalls(wireCalls, this.calls);
    this.calls += toolCalls.length;
    for (const [index, { id }] of toolCalls.entries()) this.wireIds.set(id, wireCalls[index]!.id);
    const content = message.content ?? '';
    const { usage } = reply;
    if (!usage) throw this.unreadable('usage', reply);
    return {
      message: { role: 'assistant', reasoning: reasoningOf(message), content, toolCalls },
      finishReason: reason === 'length' ? 'length' : 'stop',
      problems: [...refused.values()],
      refused,
      raw: JSON.stringify({ content, tool_calls: message.tool_calls }),
      promptTokens: usage.prompt_tokens,
      sampledTokens: usage.completion_tokens,
      weightVersion: undefined,
    };
  }

  tokens(): undefined {
    return undefined;
  }

  private wire(message: Message): WireMessage {
    if (message.role === 'tool') {
      const id = this.wireIds.get(message.callId);
      // A notice answers no call, and the API takes tool messages only in answer to one.
      return id === undefined
        ? { role: 'user', content: message.content }
        : { role: 'tool', tool_call_id: id, content: message.content };
    }
    if (message.role === 'assistant')
      throw new Fault(this.endpoint.kind, 'an assistant message is no observation');
    return { role: message.role, content: message.content };
  }

  private unreadable(field: string, reply: unknown): Fault {
    const message = `${placeOf(this.endpoint)}: ${field}: expected a chat completion, found ${excerpt(reply)}`;
    return new Fault(this.endpoint.kind, message, { code: 'unreadable' });
  }
}

/** Servers name it differently, and the API's types not at all. */
function reasoningOf(message: OpenAI.ChatCompletionMessage): string {
  const { reasoning_content: long, reasoning: short } = message as {
    reasoning_content?: unknown;
    reasoning?: unknown;
  };
  if (typeof long === 'string') return long;
  return typeof short === 'string' ? short : '';
}
