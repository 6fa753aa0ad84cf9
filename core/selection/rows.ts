/**
 * One line of probe results, as benchmark runners write them (JSON Lines), read by named fields.
 *
 * A field is a dotted path; a part may be a list index: `runs.0.passed`.
 */
import { UsageError } from '../faults.js';

export interface FieldNames {
  readonly uid: string;
  readonly success: string;
  /**
   * A named field must be a boolean on every row. Null: not named; a system error is then what a row itself calls
   * one at `is_system_error` or `test_result.is_system_error`, where present, so that a fault is never a score.
   */
  readonly systemError: string | null;
}

export const DEFAULT_FIELDS: FieldNames = { uid: 'uid', success: 'test_result.result', systemError: null };

/** Read where no system-error field is named. */
export const UNNAMED_SYSTEM_ERROR_FIELDS = ['is_system_error', 'test_result.is_system_error'] as const;

export interface ProbeRow {
  readonly uid: string;
  /** `metadata.repetition`, where present. */
  readonly repetition: number | null;
  readonly outcome: 'success' | 'failure' | 'system_error';
  /** What a system error was called by the row (`metadata.error.type`), else `unknown`. */
  readonly errorKind: string | null;
}

/** Reads the row of one line. `place` (file:line) is asked for only when something is wrong: a million lines are cheap. */
export type RowReader = (line: string, place: () => string) => ProbeRow;

type Path = readonly string[];

/** Throws `UsageError` for a line that is no JSON object, or a field of the wrong type: place, field, expected, found. */
export function rowReader(fields: FieldNames): RowReader {
  const uidPath = parsePath(fields.uid, 'uid field');
  const successPath = parsePath(fields.success, 'success field');
  const errorPaths = (fields.systemError === null ? UNNAMED_SYSTEM_ERROR_FIELDS : [fields.systemError]).map(
    (field) => parsePath(field, 'system-error field'),
  );
  const repetitionPath: Path = ['metadata', 'repetition'];
  const errorTypePath: Path = ['metadata', 'error', 'type'];

  function isSystemError(row: unknown, place: () => string): boolean {
    let systemError = false;
    for (const path of errorPaths) {
      const value = valueAt(row, path);
      if (value === undefined && fields.systemError === null) continue;
      if (typeof value !== 'boolean') throw wrong(place, path, 'true or false', value);
      systemError ||= value;
    }
    return systemError;
  }

  return (line, place) => {
    const row = parseObject(line, place);
    const uid = valueAt(row, uidPath);
    if (typeof uid !== 'string' || uid === '') throw wrong(place, uidPath, 'a non-empty string', uid);
    const repetition = valueAt(row, repetitionPath) ?? null;
    if (repetition !== null && !Number.isSafeInteger(repetition)) {
      throw wrong(place, repetitionPath, 'an integer', repetition);
    }
    const known = { uid, repetition: repetition as number | null };
    if (isSystemError(row, place)) {
      const type = valueAt(row, errorTypePath);
      return {
        ...known,
        outcome: 'system_error',
        errorKind: typeof type === 'string' && type ? type : 'unknown',
      };
    }
    const success = valueAt(row, successPath);
    if (typeof success !== 'boolean') throw wrong(place, successPath, 'true or false', success);
    return { ...known, outcome: success ? 'success' : 'failure', errorKind: null };
  };
}

function parsePath(field: string, option: string): Path {
  const parts = field.split('.');
  if (parts.some((part) => part === '')) {
    throw new UsageError(option, 'a dotted path such as test_result.result', `"${field}"`);
  }
  return parts;
}

function parseObject(line: string, place: () => string): object {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    throw new UsageError(
      place(),
      'one whole JSON object on the line',
      `${excerpt(line)} (${(error as Error).message})`,
    );
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw new UsageError(place(), 'a JSON object', excerpt(line));
  }
  return row;
}

function valueAt(row: unknown, path: Path): unknown {
  let value = row;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function wrong(place: () => string, path: Path, expected: string, found: unknown): UsageError {
  const text = found === undefined ? 'no such field' : excerpt(JSON.stringify(found));
  return new UsageError(`${place()}, field ${path.join('.')}`, expected, text);
}

function excerpt(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
