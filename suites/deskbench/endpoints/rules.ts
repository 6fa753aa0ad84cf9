/**
 * The built-in simulated user and judge: rules over the prompts of `core/prompts.ts`, with no knowledge of tasks
 * or templates. Whatever they answer stands in the prompt itself.
 */
import { UsageError } from '../../../core/faults.js';
import {
  FACTS_HEADING,
  judgedText,
  MAY_END_LINE,
  type Prompt,
  QUESTION_HEADING,
  SPEAKERS,
} from '../../../core/prompts.js';

const UNKNOWN = 'i do not know .';
const THANKS = 'thanks .';

/**
 * The user's answer. A question (with `?`) gets every fact whose label is a word of it, as `label value .`; other
 * questions get "i do not know ."; anything else gets thanks, with the end marker where the prompt allows it.
 * Throws `UsageError` for a prompt without facts.
 */
export function answerAsUser({ system, user }: Prompt): string {
  const lines = system.split('\n');
  const heading = lines.indexOf(FACTS_HEADING);
  if (heading < 0)
    throw new UsageError('system prompt', `a line "${FACTS_HEADING}" before the facts`, 'none');
  const last = user.split('\n').at(-1) ?? '';
  const heard = last.startsWith(SPEAKERS.assistant) ? last.slice(SPEAKERS.assistant.length) : '';
  if (!heard.includes('?')) {
    const mayEnd = lines.find((line) => line.startsWith(MAY_END_LINE));
    return mayEnd ? `${THANKS} ${mayEnd.slice(MAY_END_LINE.length)}` : THANKS;
  }
  const words = new Set(heard.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const told = lines.slice(heading + 1).flatMap((line) => {
    const fact = /^([^:]+): (.+)$/.exec(line);
    return fact?.[1] && words.has(fact[1].toLowerCase()) ? [`${fact[1]} ${fact[2]} .`] : [];
  });
  return told.length > 0 ? told.join(' ') : UNKNOWN;
}

/** `yes` when every quoted phrase of the question occurs in the message as whole words. Throws `UsageError` without one. */
export function answerAsJudge({ system, user }: Prompt): 'yes' | 'no' {
  const question = system.split('\n').find((line) => line.startsWith(QUESTION_HEADING));
  const phrases = [...(question ?? '').matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? '');
  if (phrases.length === 0) {
    throw new UsageError(
      'system prompt',
      `a line "${QUESTION_HEADING}" with a quoted phrase`,
      question ?? 'none',
    );
  }
  const message = ` ${wordsOf(judgedText(user))} `;
  return phrases.every((phrase) => message.includes(` ${wordsOf(phrase)} `)) ? 'yes' : 'no';
}

/** Lower case, punctuation other than `$` and inner dots or commas of numbers dropped, single spaces. */
function wordsOf(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}$]+(?:[.,]\d+)*/gu) ?? []).join(' ');
}
