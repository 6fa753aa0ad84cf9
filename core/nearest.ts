/** "Did you mean ...?": the known word that is nearest to a mistyped one. */

/** The nearest of `known` within a third of the word's length (2 at least), or undefined. Ties go to the first. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  return nearestFew(word, known, 1)[0];
}

/** At most `most` of `known`, nearest first, each within a third of the word's length (2 at least). */
export function nearestFew(word: string, known: Iterable<string>, most: number): string[] {
  const bound = Math.max(2, Math.floor(word.length / 3));
  return [...known]
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= bound)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, substitution));
    }
    row = next;
  }
  return row[b.length]!;
}
