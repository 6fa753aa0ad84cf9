/** The desk's database: plain tables of flat rows, small enough to be sent, compared and shown whole. */

export type Cell = string | number;
/** Column → value. */
export type Row = { [column: string]: Cell };
/** Table → row id → row. */
export type Tables = { [table: string]: { [id: string]: Row } };

/** A deep copy: the same start state serves the sandbox and the expected state. */
export function cloneTables(tables: Tables): Tables {
  return structuredClone(tables);
}

/**
 * Notes that something was done to `id`. One row per subject; `times` counts, so that doing it twice is another state
 * than doing it once, while the order of independent writes leaves no trace.
 */
export function record(tables: Tables, table: string, id: string, row: Row = {}): void {
  const rows = tables[table] ?? {};
  tables[table] = rows;
  const times = Number(rows[id]?.times ?? 0) + 1;
  rows[id] = { ...row, times };
}

/** Every difference in words, in table and row order; empty when the tables are equal. An empty table equals an absent one. */
export function differences(expected: Tables, found: Tables): string[] {
  const reasons: string[] = [];
  for (const table of [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort()) {
    const want = expected[table] ?? {};
    const have = found[table] ?? {};
    for (const id of [...new Set([...Object.keys(want), ...Object.keys(have)])].sort()) {
      reasons.push(...rowDifferences(`${table} ${id}`, want[id], have[id]));
    }
  }
  return reasons;
}

function rowDifferences(place: string, want: Row | undefined, have: Row | undefined): string[] {
  if (!want) return [`${place}: a row that should not be there: ${show(have ?? {})}`];
  if (!have) return [`${place}: the row is missing, expected ${show(want)}`];
  const columns = [...new Set([...Object.keys(want), ...Object.keys(have)])].sort();
  return columns
    .filter((column) => want[column] !== have[column])
    .map(
      (column) =>
        `${place}: expected ${column} ${want[column] ?? '(none)'}, found ${have[column] ?? '(none)'}`,
    );
}

function show(row: Row): string {
  return Object.entries(row)
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');
}
