/** Configurations as they are printed for people: long lists of task ids by their ends. */

/** For `JSON.stringify`. */
export function shortLists(_key: string, value: unknown): unknown {
  if (!Array.isArray(value) || value.length <= 6) return value;
  return [...value.slice(0, 3), `… ${value.length - 4} more`, value.at(-1)];
}
