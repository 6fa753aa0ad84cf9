/** Order of names and canonical JSON. Names sort by Unicode code point, as Python sorts them; JavaScript's own order differs above U+FFFF. */

export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const first = a.charCodeAt(index);
    const second = b.charCodeAt(index);
    if (first !== second) return codePointRank(first) - codePointRank(second);
  }
  return a.length - b.length;
}

/** UTF-16 surrogates stand for code points above every other unit. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Compact JSON with the keys of every object sorted. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => byCodePoint(a, b)))
      : inner,
  );
}
