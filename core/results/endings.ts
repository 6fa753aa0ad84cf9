/** Reasons why conversations ended, from the words of result rows to ours (core/outcome.ts). */
import { TERMINATIONS, type Termination } from '../outcome.js';

/** Words of `tb infer` that are not ours. */
const OTHER_WORDS: Readonly<Record<string, Termination>> = { no_user_llm: 'no_user' };

/** Null for a reason that has no place in our closed set, such as `skipped` or `agent_error`. */
export function endingOf(word: string): Termination | null {
  if (Object.hasOwn(TERMINATIONS, word)) return word as Termination;
  return Object.hasOwn(OTHER_WORDS, word) ? (OTHER_WORDS[word] as Termination) : null;
}
