/** The simulated user: a chat model that plays the person of the brief. */
import type { Message } from '../../core/message.js';
import { userPrompt } from '../../core/prompts.js';
import type { UserBrief } from '../../core/suite.js';
import type { ChatModel, Meter } from '../policy/chat-model.js';

export interface SimulatedUser {
  /** The next user message. Throws `Fault('user')` when there is none to be had, or none that can be read. */
  answer(
    brief: UserBrief,
    transcript: readonly Message[],
    meter: Meter,
    signal: AbortSignal,
  ): Promise<string>;
}

export function createUser(model: ChatModel): SimulatedUser {
  return {
    answer: async (brief, transcript, meter, signal) => {
      const said = plain(await model.complete(userPrompt(brief, transcript), meter, signal));
      if (said === '') throw model.unreadable('an empty message');
      return said;
    },
  };
}

const ROLE_LABEL = /^(?:user|customer|assistant|system)\s*:\s*/i;
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ["'", "'"],
  ['“', '”'],
];

/** Without a role label in front and quotes around: models that play a part like to announce it. */
export function plain(text: string): string {
  const said = text.trim().replace(ROLE_LABEL, '').trim();
  for (const [open, close] of QUOTES) {
    const quoted = said.length >= 2 && said.startsWith(open) && said.endsWith(close);
    // Quotes inside are the message's own: `"no" or "yes"` is not one quotation.
    if (quoted && !said.slice(1, -1).includes(open)) return said.slice(1, -1).trim();
  }
  return said;
}
