/**
 * One line of an evaluation's results, as `tb infer` and `thinkingbox-eval` write them.
 *
 *   test_result              verdict, or null; `result` says whether the check passed
 *   is_system_error          the episode was lost; `test_result.is_system_error`: the check was
 *   metadata.test_case_file, metadata.test_case_name, metadata.repetition        the key
 *   metadata.scenario, metadata.execution_time, finish_reason, usage, messages   told where present
 */
import { parseRow, valueAt, wrongField } from '../json-row.js';
import type { EpisodeConduct } from '../metrics/conduct.js';
import { readMessages } from './messages.js';

export interface ResultRow extends EpisodeConduct {
  /** Base name of the case file, `:`, case name. */
  readonly taskId: string;
  readonly repetition: number;
  /** A row without a verdict is a system error too: an absent score is never 0. */
  readonly outcome: 'passed' | 'failed' | 'system_error';
  readonly domain: string;
  readonly ending: string;
  /** Null where the row has no token counts in a form that is known. */
  readonly tokens: RowTokens | null;
}

export interface RowTokens {
  readonly prompt: number;
  readonly sampled: number;
  /** Calls of the agent's model. */
  readonly calls: number;
}

const FIELDS = {
  systemError: ['is_system_error'],
  testSystemError: ['test_result', 'is_system_error'],
  verdict: ['test_result'],
  result: ['test_result', 'result'],
  file: ['metadata', 'test_case_file'],
  name: ['metadata', 'test_case_name'],
  repetition: ['metadata', 'repetition'],
  scenario: ['metadata', 'scenario'],
  ending: ['finish_reason'],
  usage: ['usage'],
  seconds: ['metadata', 'execution_time'],
  messages: ['messages'],
} as const;

/** Throws `UsageError` with `place()`, field, expected and found. */
export function readResultRow(line: string, place: () => string): ResultRow {
  return resultRow(parseRow(line, place), place);
}

/** The same for a line that is parsed already. */
export function resultRow(row: object, place: () => string): ResultRow {
  const field = <T>(path: readonly string[], expected: string, holds: (value: unknown) => value is T): T => {
    const value = valueAt(row, path);
    if (holds(value)) return value;
    throw wrongField(place, path, expected, value);
  };
  const flag = (path: readonly string[], whenAbsent: boolean): boolean =>
    valueAt(row, path) === undefined ? whenAbsent : field(path, 'true or false', isBoolean);

  const file = field(FIELDS.file, 'the path of the case file', isText);
  const name = field(FIELDS.name, 'the name of the case', isText);
  const repetition = field(FIELDS.repetition, 'an integer', isInteger);
  const lost = field(FIELDS.systemError, 'true or false', isBoolean) || flag(FIELDS.testSystemError, false);
  const verdict = valueAt(row, FIELDS.verdict) ?? null;
  const ending = valueAt(row, FIELDS.ending);
  const scenario = valueAt(row, FIELDS.scenario);
  const talk = readMessages(valueAt(row, FIELDS.messages));
  const passed = lost || verdict === null ? null : field(FIELDS.result, 'true or false', isBoolean);
  return {
    taskId: `${file.split(/[/\\]/).at(-1)}:${name}`,
    repetition,
    outcome: passed === null ? 'system_error' : passed ? 'passed' : 'failed',
    domain: isText(scenario) ? scenario : 'none',
    ending: isText(ending) ? ending : 'unknown',
    tokens: tokensOf(valueAt(row, FIELDS.usage)),
    toolCalls: talk?.toolCalls ?? null,
    toolErrors: talk?.toolErrors ?? null,
    seconds: secondsOf(valueAt(row, FIELDS.seconds)),
  };
}

function secondsOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** A list of per-call counts, by the names that OpenAI's two interfaces use. */
function tokensOf(usage: unknown): ResultRow['tokens'] {
  if (!Array.isArray(usage) || usage.length === 0) return null;
  let prompt = 0;
  let sampled = 0;
  for (const call of usage as unknown[]) {
    const input = valueAt(call, ['prompt_tokens']) ?? valueAt(call, ['input_tokens']);
    const output = valueAt(call, ['completion_tokens']) ?? valueAt(call, ['output_tokens']);
    if (!isInteger(input) || !isInteger(output)) return null;
    prompt += input;
    sampled += output;
  }
  return { prompt, sampled, calls: usage.length };
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
