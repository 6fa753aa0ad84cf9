/** Plain text from a chat endpoint: what the simulated user and the judge are made of. */
import { Fault } from '../../core/faults.js';
import { ENDED_BY_MODEL } from './chat-reply.js';
import { type Endpoint, placeOf } from './endpoint.js';
import { complete } from './exchange.js';
import { excerpt, fieldsOf, isCount, onlyChoice } from './unreadable.js';

/** Tokens and calls, counted where they are made, for the episode that made them. */
export interface Meter {
  promptTokens: number;
  sampledTokens: number;
  calls: number;
}

export interface ChatSettings {
  readonly temperature: number;
  readonly maxTokens: number;
}

export interface ChatModel {
  /** As messages name it. */
  readonly place?: string;
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
    place: placeOf(endpoint),
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
      const reply = fieldsOf(await complete(endpoint, { path: '/chat/completions', body, signal }));
      const choice = onlyChoice(endpoint, reply?.choices);
      const text: unknown = fieldsOf(choice?.message)?.content;
      if (typeof text !== 'string') throw unreadable(`without choices[0].message.content: ${excerpt(reply)}`);
      const reason: unknown = choice?.finish_reason ?? 'stop';
      if (!ENDED_BY_MODEL.has(reason)) throw unreadable(`half a message (${excerpt(reason)})`);
      // Nobody's words: a user who stops in the middle, a judge who never came to the point.
      if (reason === 'length') throw unreadable(`a message that was cut off at ${settings.maxTokens} tokens`);
      const { prompt_tokens: prompted, completion_tokens: sampled } = fieldsOf(reply?.usage) ?? {};
      meter.calls += 1;
      meter.promptTokens += isCount(prompted) ? prompted : 0;
      meter.sampledTokens += isCount(sampled) ? sampled : 0;
      return text;
    },
  };
}
