/** The check of a desk task: final tables against expected ones, then the rubric, where there is one. */
import { Fault } from '../../core/faults.js';
import type { Message } from '../../core/message.js';
import type { Verdict } from '../../core/outcome.js';
import { judgePrompt } from '../../core/prompts.js';
import type { GradeInput } from '../../core/suite.js';
import { type DeskTask, rubricOf } from './scene.js';
import { differences, type Tables } from './world/tables.js';

/** Binary. The judge is asked only when the tables are right: a wrong state fails whatever was said. */
export async function gradeDesk(task: DeskTask, input: GradeInput): Promise<Verdict> {
  const found = input.effects[task.template.domain];
  if (!isTables(found)) {
    throw new Fault(
      'grader',
      `effects of the ${task.template.domain} desk: expected tables, found ${JSON.stringify(found)}`,
    );
  }
  const reasons = differences(task.expected, found);
  const question = rubricOf(task);
  if (reasons.length > 0 || question === undefined) return verdict(reasons, []);
  const message = lastWords(input.messages);
  if (message === '') return verdict([`no message was written: ${question}`], []);
  const answer = await input.judge.ask(judgePrompt(question, message), input.signal);
  return verdict(answer ? [] : [`the judge says no: ${question}`], [{ question, answer }]);
}

function verdict(reasons: readonly string[], judged: Verdict['judged']): Verdict {
  const passed = reasons.length === 0;
  return { passed, reward: passed ? 1 : 0, reasons, judged };
}

/** The agent's last visible message, or nothing. */
function lastWords(messages: readonly Message[]): string {
  return (
    messages.findLast((message) => message.role === 'assistant' && message.content.trim() !== '')?.content ??
    ''
  );
}

function isTables(value: unknown): value is Tables {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((rows) => typeof rows === 'object' && rows !== null && !Array.isArray(rows))
  );
}
