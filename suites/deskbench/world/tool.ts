/**
 * One tool of a desk. What it answers is written in the closed lexicon: lower-case words, single spaces,
 * and every number behind a letter or a sign (`r41`, `$80`).
 */
import type { JsonObject } from '../../../core/message.js';
import type { Row, Tables } from './tables.js';

export type ToolArguments = Readonly<Record<string, string>>;

export interface DeskTool {
  readonly name: string;
  /** For models that are shown descriptions; it states the desk's rule for using the tool. */
  readonly description: string;
  /** Parameter → what it is. All are required strings. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly writes: boolean;
  /** Answers, and changes `tables` when it writes. Throws `DeskError` with a text for the agent; then nothing has changed. */
  run(tables: Tables, args: ToolArguments): string;
}

/** The desk refuses a call; the message is what the agent reads. */
export class DeskError extends Error {
  override readonly name = 'DeskError';
}

/** The row, or undefined. Own rows only: an id such as `constructor` finds nothing. */
export function findRow(tables: Tables, table: string, id: string | undefined): Row | undefined {
  const rows = tables[table];
  return rows && id !== undefined && Object.hasOwn(rows, id) ? rows[id] : undefined;
}

/** The row, or `DeskError('no such order .')`. */
export function rowOf(tables: Tables, table: string, noun: string, id: string | undefined): Row {
  const row = findRow(tables, table, id);
  if (!row) throw new DeskError(`no such ${noun} .`);
  return row;
}

/** Id of the first row with these values, or `DeskError('no such order .')`. */
export function findId(
  tables: Tables,
  table: string,
  noun: string,
  values: Readonly<Record<string, string | undefined>>,
): string {
  const found = Object.entries(tables[table] ?? {}).find(([, row]) =>
    Object.entries(values).every(([column, value]) => row[column] === value),
  );
  if (!found) throw new DeskError(`no such ${noun} .`);
  return found[0];
}

/** Checks names and types of arguments; throws `DeskError('bad order .')`, naming the first parameter that is wrong. */
export function checkArguments(tool: DeskTool, args: JsonObject): ToolArguments {
  const checked: Record<string, string> = {};
  for (const name of Object.keys(tool.parameters)) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (typeof value !== 'string' || value === '') throw new DeskError(`bad ${name} .`);
    checked[name] = value;
  }
  if (Object.keys(args).some((name) => !Object.hasOwn(tool.parameters, name)))
    throw new DeskError('bad parameter .');
  return checked;
}

/** JSON schema of the arguments, as `tools/list` shows it. */
export function argumentSchema(tool: DeskTool): JsonObject {
  const properties: Record<string, JsonObject> = {};
  for (const [name, description] of Object.entries(tool.parameters)) {
    properties[name] = { type: 'string', description };
  }
  return {
    type: 'object',
    properties,
    required: Object.keys(tool.parameters),
    additionalProperties: false,
  };
}
