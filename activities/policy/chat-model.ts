/** Plain text from a chat endpoint: what the simulated user and the judge are made of. */
import { Fault } from '../../core/faults.js';
import { type Endpoint, openAi, placeOf } from './endpoint.js';
import { request } from './retry.js';

/** Tokens and calls, counted where they are made, for the episode that made them. */
export interface Meter {
  promptTokens: number;
  sampledTokens: number;
  calls: number;
}

/** `error`, `abort` and the like are the server's end, not the model's: what was said until then is no answer. */
export const ENDED_BY_MODEL: ReadonlySet<unknown> = new Set([
  'stop',
  'length',
  'tool_calls',
  'function_call',
]);

export interface ChatSettings {
  readonly temperature: number;
  readonly maxTokens: number;
}

export interface ChatModel {
  /** The text of one answer. Throws `Fault` of the endpoint's kind, or the signal's reason. */
  complete(
    prompt: { readonly system: string; readonly user: string },
    meter: Meter,
    signal: AbortSignal,
  ): Promise<string>;
  /** The fault for an answer that the caller cannot use. */
  unreadable(found: string): Fault;
}

export function createChatModel(
  endpoint: Endpoint,
  settings: ChatSettings = { temperature: 0, maxTokens: 1_024 },
): ChatModel {
  const unreadable = (found: string): Fault =>
    new Fault(endpoint.kind, `${placeOf(endpoint)} answered ${found}`, { code: 'unreadable' });
  return {
    unreadable,
    complete: async (prompt, meter, signal) => {
      const body = {
        model: endpoint.model,
        temperature: settings.temperature,
        max_tokens: settings.maxTokens,
        messages: [
          { role: 'system' as const, content: prompt.system },
          { role: 'user' as const, content: prompt.user },
        ],
      };
      const reply = await request(endpoint, signal, () =>
        openAi(endpoint).chat.completions.create(body, { signal }),
      );
      // Whatever the types say, this came over the network.
      const choice = typeof reply === 'object' ? reply.choices?.[0] : undefined;
      const text: unknown = choice?.message?.content;
      if (typeof text !== 'string') throw unreadable(`without choices[0].message.content: ${excerpt(reply)}`);
      const reason: unknown = choice?.finish_reason ?? 'stop';
      if (!ENDED_BY_MODEL.has(reason)) throw unreadable(`half a message (${excerpt(reason)})`);
      meter.calls += 1;
      meter.promptTokens += reply.usage?.prompt_tokens ?? 0;
      meter.sampledTokens += reply.usage?.completion_tokens ?? 0;
      return text;
    },
  };
}

/** The beginning of what came instead, e.g. of a proxy's HTML page. */
export function excerpt(reply: unknown): string {
  const text = typeof reply === 'string' ? reply : (JSON.stringify(reply) ?? 'nothing');
  return text.length <= 200 ? text : `${text.slice(0, 200)}...`;
}
