/**
 * Two final states, compared as tables.
 *
 * Servers report free JSON. Whatever looks like a table is read as one: an object of objects (rows by id) or a list
 * of objects (rows by `id`, else by place). Anything else is compared as a value in a table of its own. The result
 * holds the rows that differ, and of the others those that the conversation mentioned, so that a reader sees what
 * the agent touched without reading every row.
 */
import type { Json } from '../../core/message.js';
import type { Effects } from '../../core/suite.js';

export type RowKind = 'changed' | 'missing' | 'extra' | 'same';

/** One row of both states. `missing`: expected and not there; `extra`: there and not expected. */
export interface RowDiff {
  readonly id: string;
  readonly kind: RowKind;
  /** Cell text by column; absent cells are undefined. Null where the row is absent. */
  readonly expected: Readonly<Record<string, string>> | null;
  readonly actual: Readonly<Record<string, string>> | null;
  /** Columns whose cells differ. */
  readonly columns: readonly string[];
}

export interface TableDiff {
  /** `server / table`. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Differing rows first, then context. */
  readonly rows: readonly RowDiff[];
  /** Equal rows that are left out. */
  readonly hidden: number;
}

export interface StateDiff {
  readonly tables: readonly TableDiff[];
  readonly differing: number;
  readonly equal: number;
}

type Row = Readonly<Record<string, string>>;
type Tables = Map<string, Map<string, Row>>;
type Obj = { readonly [key: string]: Json };

const MAX_DEPTH = 4;

function isObject(value: Json): value is Obj {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** A value as cell text; keys sorted, so that equal values have equal text. */
function cell(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] ?? null)]));
}

function row(value: Json): Row {
  if (!isObject(value)) return { value: cell(value) };
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cell(each)]));
}

function add(tables: Tables, name: string, id: string, value: Json): void {
  const rows = tables.get(name) ?? new Map<string, Row>();
  let unique = id;
  for (let copy = 2; rows.has(unique); copy += 1) unique = `${id} (${copy})`;
  rows.set(unique, row(value));
  tables.set(name, rows);
}

/** True when every value is an object with at least one plain value: a row, not another level of tables. */
function holdsRows(values: readonly Json[]): boolean {
  return (
    values.length > 0 &&
    values.every(
      (value) => isObject(value) && Object.values(value).some((each) => !isObject(each) && !isList(each)),
    )
  );
}

function walk(tables: Tables, name: string, value: Json, depth: number): void {
  if (isList(value)) {
    value.forEach((each, index) => {
      const own = isObject(each) && (typeof each.id === 'string' || typeof each.id === 'number');
      add(tables, name, own ? String((each as Obj).id) : String(index + 1), each);
    });
    return;
  }
  if (!isObject(value)) {
    add(tables, name, 'value', value);
    return;
  }
  if (holdsRows(Object.values(value)) || depth >= MAX_DEPTH) {
    for (const [id, each] of Object.entries(value)) add(tables, name, id, each);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    if (isObject(each) || isList(each)) walk(tables, name === '' ? key : `${name} / ${key}`, each, depth + 1);
    else add(tables, name, key, each);
  }
}

function tablesOf(effects: Effects): Tables {
  const tables: Tables = new Map();
  const servers = Object.entries(effects);
  for (const [server, state] of servers) walk(tables, servers.length > 1 ? server : '', state, 0);
  return tables;
}

function compareRow(id: string, expected: Row | undefined, actual: Row | undefined): RowDiff {
  const names = new Set([...Object.keys(expected ?? {}), ...Object.keys(actual ?? {})]);
  const columns = [...names].filter((name) => expected?.[name] !== actual?.[name]);
  const kind = !expected ? 'extra' : !actual ? 'missing' : columns.length > 0 ? 'changed' : 'same';
  return { id, kind, expected: expected ?? null, actual: actual ?? null, columns };
}

/**
 * Compares two states. `mentioned` holds texts of the conversation's tool calls (arguments): equal rows whose id is
 * one of them are kept as context, at most `contextRows` a table.
 */
export function diffStates(
  expected: Effects,
  actual: Effects,
  mentioned: ReadonlySet<string>,
  contextRows = 3,
): StateDiff {
  const left = tablesOf(expected);
  const right = tablesOf(actual);
  let differing = 0;
  let equal = 0;
  const tables: TableDiff[] = [];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const ids = new Set([...(left.get(name)?.keys() ?? []), ...(right.get(name)?.keys() ?? [])]);
    const rows = [...ids].map((id) => compareRow(id, left.get(name)?.get(id), right.get(name)?.get(id)));
    const changed = rows.filter((each) => each.kind !== 'same');
    const same = rows.filter((each) => each.kind === 'same');
    const context = same.filter((each) => mentioned.has(each.id)).slice(0, contextRows);
    differing += changed.length;
    equal += same.length;
    const shown = [...changed, ...context];
    const columns = new Set(shown.flatMap((each) => Object.keys(each.expected ?? each.actual ?? {})));
    for (const each of shown) for (const column of each.columns) columns.add(column);
    tables.push({
      name: name === '' ? 'values' : name,
      columns: [...columns],
      rows: shown,
      hidden: same.length - context.length,
    });
  }
  // Tables with differences first; their order is otherwise the server's.
  tables.sort((a, b) => Number(isEqual(a)) - Number(isEqual(b)));
  return { tables, differing, equal };
}

function isEqual(table: TableDiff): boolean {
  return table.rows.every((each) => each.kind === 'same');
}
