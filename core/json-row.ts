/** One line of JSON Lines as an object, and its fields by path; errors say place, field, expected and found. */
import { UsageError } from './faults.js';

/** Keys from the outside in; a key may be a list index. */
export type FieldPath = readonly string[];

/** `a.0.b` as a path. Throws `UsageError`, naming `option`, for an empty part. */
export function fieldPath(field: string, option: string): FieldPath {
  const parts = field.split('.');
  if (parts.some((part) => part === '')) {
    throw new UsageError(option, 'a dotted path such as test_result.result', `"${field}"`);
  }
  return parts;
}

/** Throws `UsageError` for a line that is not one JSON object. `place` is asked for only then. */
export function parseRow(line: string, place: () => string): object {
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

/** Undefined where any part of the path is missing. Inherited names such as `constructor` are no fields. */
export function valueAt(row: unknown, path: FieldPath): unknown {
  let value = row;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

export function wrongField(
  place: () => string,
  path: FieldPath,
  expected: string,
  found: unknown,
): UsageError {
  const text = found === undefined ? 'no such field' : excerpt(JSON.stringify(found));
  return new UsageError(`${place()}, field ${path.join('.')}`, expected, text);
}

function excerpt(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
