/** One result row with all that an import keeps of it: verdict in words, fault, conversation. */

import type { FaultKind } from '../faults.js';
import { parseRow, valueAt, wrongField } from '../json-row.js';
import type { Message } from '../message.js';
import { TERMINATIONS, type Termination, type Verdict } from '../outcome.js';
import type { Effects } from '../suite.js';
import { endingOf } from './endings.js';
import { readMessages } from './messages.js';
import { type ResultRow, resultRow } from './rows.js';

export interface RowFault {
  readonly kind: FaultKind;
  readonly code: string | null;
  readonly message: string;
  readonly stack: string | null;
}

/** Exactly one of `verdict` and `fault` is set; with a verdict the termination is too. */
export interface ImportedRow {
  readonly row: ResultRow;
  readonly verdict: Verdict | null;
  readonly termination: Termination | null;
  readonly fault: RowFault | null;
  /** Empty where the row carries no conversation. */
  readonly messages: readonly Message[];
  readonly turns: number | null;
  /** The final state, where the runner was asked to write it down. */
  readonly effects: Effects | null;
}

/** `otherEndingsAs`: how an ending outside our own set is recorded; null refuses it, with `UsageError`. */
export function readImportedRow(
  line: string,
  place: () => string,
  otherEndingsAs: Termination | null,
): ImportedRow {
  const value = parseRow(line, place);
  const row = resultRow(value, place);
  const talk = readMessages(valueAt(value, ['messages']));
  const fault = row.outcome === 'system_error' ? faultOf(value) : null;
  return {
    row,
    verdict: fault ? null : verdictOf(value, row.outcome === 'passed', place),
    termination: fault ? null : terminationOf(row.ending, place, otherEndingsAs),
    fault,
    messages: talk?.messages ?? [],
    turns: talk?.turns ?? null,
    effects: effectsOf(valueAt(value, ['test_context', 'effects'])),
  };
}

function terminationOf(word: string, place: () => string, otherEndingsAs: Termination | null): Termination {
  const known = endingOf(word) ?? otherEndingsAs;
  if (known !== null) return known;
  throw wrongField(
    place,
    ['finish_reason'],
    `one of ${Object.keys(TERMINATIONS).join(', ')} (or say how others are recorded: --other-endings-as)`,
    word,
  );
}

function verdictOf(value: object, passed: boolean, place: () => string): Verdict {
  const given = valueAt(value, ['test_result', 'reward']);
  const reward = given ?? (passed ? 1 : 0);
  if (typeof reward !== 'number' || !(reward >= 0 && reward <= 1)) {
    throw wrongField(place, ['test_result', 'reward'], 'a number from 0 to 1', given);
  }
  const judged = valueAt(value, ['test_result', 'metadata', 'judge_motivation']);
  return {
    passed,
    reward,
    reasons: passed ? [] : reasonsOf(valueAt(value, ['test_result'])),
    judged: (Array.isArray(judged) ? (judged as unknown[]) : []).map((item) => ({
      question: textOr(valueAt(item, ['question']), ''),
      answer: valueAt(item, ['answer']) === true,
    })),
  };
}

/** The line of the check that failed, and the last line of its traceback. */
function reasonsOf(result: unknown): string[] {
  const line = textOr(valueAt(result, ['line_content']), '').trim();
  const trace = textOr(valueAt(result, ['tb']), '').trimEnd();
  const last = trace.slice(trace.lastIndexOf('\n') + 1).trim();
  return [line, last].filter((text) => text !== '');
}

/** By where the runner says that it was lost. */
function faultOf(value: object): RowFault {
  const result = valueAt(value, ['test_result']);
  if (valueAt(value, ['is_system_error']) !== true) {
    const what =
      result === undefined || result === null
        ? 'no verdict was recorded'
        : `the check failed to run${reasonsOf(result).map((reason) => `: ${reason}`)[0] ?? ''}`;
    return { kind: 'grader', code: 'imported', message: what, stack: textOr(valueAt(result, ['tb']), null) };
  }
  const error = valueAt(value, ['metadata', 'error']);
  const message = textOr(valueAt(error, ['message']), '') || textOr(error, '') || 'no message was recorded';
  return {
    kind: boundaryOf(message),
    code: textOr(valueAt(error, ['type']), 'imported'),
    message,
    stack: textOr(valueAt(error, ['tb']), null),
  };
}

/** `tb infer` says which side of the loop it was in; what is left is the session around it. */
function boundaryOf(message: string): FaultKind {
  if (message.startsWith('Error during user LLM simulation')) return 'user';
  if (message.startsWith('Error during decoding turn')) return 'policy';
  return 'sandbox';
}

function effectsOf(value: unknown): Effects | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Effects) : null;
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}
