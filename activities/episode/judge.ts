/** The judge: a chat model that answers yes or no. What is neither is asked again once, then it is a fault, never a "no". */
import type { Judge } from '../../core/suite.js';
import type { ChatModel, Meter } from '../policy/chat-model.js';

/** `meter` counts for the episode that this judge serves. */
export function createJudge(model: ChatModel, meter: Meter): Judge {
  return {
    complete: (request, signal) => model.complete(request, meter, signal),
    ask: async (request, signal) => {
      let said = '';
      for (let asked = 0; asked < 2; asked += 1) {
        said = await model.complete(request, meter, signal);
        const answer = yesOrNo(said);
        if (answer !== undefined) return answer;
      }
      throw model.unreadable(`"${said.slice(0, 200)}" instead of yes or no`);
    },
  };
}

/** The whole answer is the word, whatever its case, marks or quotes; a sentence that contains it is unreadable. */
export function yesOrNo(text: string): boolean | undefined {
  const word = text.toLowerCase().replace(/[\s"'`*.!]+/g, '');
  if (word === 'yes') return true;
  if (word === 'no') return false;
  return undefined;
}
