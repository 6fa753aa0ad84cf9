/**
 * The judge: a chat model that answers yes or no.
 *
 * Its whole answer is one word, in any case, with quotes or emphasis around it and a full stop or exclamation mark
 * after it: `answer = [marks] ("yes" | "no") [marks]`. Anything else is unreadable, also a sentence that contains the
 * word: it is asked again with a reminder, and after the last time it is a fault, never a "no".
 */
import { withDeadline } from '../../core/deadline.js';
import { JUDGE_REMINDER, type Prompt } from '../../core/prompts.js';
import type { Judge } from '../../core/suite.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import type { ChatModel, Meter } from '../policy/chat-model.js';
import { withoutThoughts } from './said.js';

/** Times that one question is put. */
const ASKED_AT_MOST = 3;

/** `meter` counts for the episode that this judge serves; `messageMs` is the wall clock of each of its answers. */
export function createJudge(
  model: ChatModel,
  meter: Meter,
  messageMs: number = EPISODE_LIMITS.messageMs,
): Judge {
  const clock = { ms: messageMs, what: `an answer of ${model.place ?? 'the judge'}` };
  const answerTo = (request: Prompt, signal: AbortSignal): Promise<string> =>
    withDeadline(signal, clock, (inner) => model.complete(request, meter, inner));
  return {
    complete: async (request, signal) => withoutThoughts(await answerTo(request, signal)),
    ask: async (request, signal) => {
      const again = { ...request, system: `${request.system}\n${JUDGE_REMINDER}`.trim() };
      let said = '';
      for (let asked = 0; asked < ASKED_AT_MOST; asked += 1) {
        said = await answerTo(asked === 0 ? request : again, signal);
        const answer = yesOrNo(said);
        if (answer !== undefined) return answer;
      }
      throw model.unreadable(`"${said.slice(0, 200)}" instead of yes or no, asked ${ASKED_AT_MOST} times`);
    },
  };
}

const ANSWER = /^["'`*_“”‘’«»]{0,4}(yes|no)[.!]?["'`*_“”‘’«»]{0,4}[.!]?$/i;

export function yesOrNo(text: string): boolean | undefined {
  const word = ANSWER.exec(withoutThoughts(text))?.[1]?.toLowerCase();
  return word === undefined ? undefined : word === 'yes';
}
