/**
 * The simulated user: a chat model that plays the person of the brief. It is told the task's private context and what
 * was said in the conversation; never tools, their results, reasoning, system messages or the wanted state
 * (docs/people.md).
 */
import type { Message } from '../../core/message.js';
import { type ToldBrief, userPrompt } from '../../core/prompts.js';
import type { ChatModel, Meter } from '../policy/chat-model.js';
import { spoken, withoutThoughts } from './said.js';

export interface SimulatedUser {
  /** What an answer is waited for from, as messages name it. */
  readonly place?: string;
  /** The next user message. Throws `Fault('user')` when there is none to be had, or none that can be read. */
  answer(
    brief: ToldBrief,
    transcript: readonly Message[],
    meter: Meter,
    signal: AbortSignal,
  ): Promise<string>;
  /** The model's answer to a prompt that is not ours, without its thoughts. Throws as `answer` does. */
  say?(
    prompt: { readonly system: string; readonly user: string },
    meter: Meter,
    signal: AbortSignal,
  ): Promise<string>;
}

export function createUser(model: ChatModel): SimulatedUser {
  return {
    ...(model.place === undefined ? {} : { place: model.place }),
    answer: async (brief, transcript, meter, signal) => {
      const said = spoken(await model.complete(userPrompt(brief, transcript), meter, signal));
      if (said === '') throw model.unreadable('an empty message');
      return said;
    },
    say: async (prompt, meter, signal) => {
      const said = withoutThoughts(await model.complete(prompt, meter, signal));
      if (said === '') throw model.unreadable('an empty message');
      return said;
    },
  };
}
