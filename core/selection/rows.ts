/**
 * One line of probe results, as benchmark runners write them (JSON Lines), read by named fields.
 *
 * A field is a dotted path; a part may be a list index: `runs.0.passed`.
 */
import { type FieldPath, fieldPath, parseRow, valueAt, wrongField } from '../json-row.js';

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

/** Throws `UsageError` for a line that is no JSON object, or a field of the wrong type: place, field, expected, found. */
export function rowReader(fields: FieldNames): RowReader {
  const uidPath = fieldPath(fields.uid, 'uid field');
  const successPath = fieldPath(fields.success, 'success field');
  const errorPaths = (fields.systemError === null ? UNNAMED_SYSTEM_ERROR_FIELDS : [fields.systemError]).map(
    (field) => fieldPath(field, 'system-error field'),
  );
  const repetitionPath: FieldPath = ['metadata', 'repetition'];
  const errorTypePath: FieldPath = ['metadata', 'error', 'type'];

  function isSystemError(row: unknown, place: () => string): boolean {
    let systemError = false;
    for (const path of errorPaths) {
      const value = valueAt(row, path);
      if (value === undefined && fields.systemError === null) continue;
      if (typeof value !== 'boolean') throw wrongField(place, path, 'true or false', value);
      systemError ||= value;
    }
    return systemError;
  }

  return (line, place) => {
    const row = parseRow(line, place);
    const uid = valueAt(row, uidPath);
    if (typeof uid !== 'string' || uid === '') throw wrongField(place, uidPath, 'a non-empty string', uid);
    const repetition = valueAt(row, repetitionPath) ?? null;
    if (repetition !== null && !Number.isSafeInteger(repetition)) {
      throw wrongField(place, repetitionPath, 'an integer', repetition);
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
    if (typeof success !== 'boolean') throw wrongField(place, successPath, 'true or false', success);
    return { ...known, outcome: success ? 'success' : 'failure', errorKind: null };
  };
}
