/** Options that were written, over defaults that must not be erased. */

/** The object without its undefined entries, so that a spread never erases a default. */
export function defined<T extends object>(
  object: T | undefined,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
