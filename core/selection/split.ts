/**
 * Train and test from the eligible tasks, without a random generator: ranks are hashes, so a task's side depends on
 * the seed and on the family it stands in, never on the order of rows.
 *
 * A family is what stands before the first `:` of an id. Each family gives up `target` tasks: from every stratum its
 * quota, where the family is large enough to serve all of them, and the rest by rank.
 */
import { createHash } from 'node:crypto';
import type { Assessment } from './assess.js';
import { byCodePoint } from './names.js';

export interface Split {
  readonly train: readonly Assessment[];
  readonly test: readonly Assessment[];
}

export function splitTasks(tasks: readonly Assessment[], testFraction: number, seed: number): Split {
  const held = new Set<string>();
  for (const [family, members] of grouped(tasks, ({ uid }) => familyOf(uid))) {
    for (const uid of heldOut(family, members, testFraction, seed)) held.add(uid);
  }
  return {
    train: tasks.filter(({ uid }) => !held.has(uid)),
    test: tasks.filter(({ uid }) => held.has(uid)),
  };
}

/** As `splitTasks` for ids of which nothing else is known: every family is one stratum. */
export function splitIds(
  ids: readonly string[],
  testFraction: number,
  seed: number,
): { readonly train: readonly string[]; readonly test: readonly string[] } {
  const held = new Set<string>();
  for (const [family, members] of grouped(ids, familyOf)) {
    if (members.length < 2) continue;
    const target = heldOutCount(members.length, testFraction);
    for (const uid of ranked(seed, `${family}\0fallback`, members).slice(0, target)) held.add(uid);
  }
  return { train: ids.filter((uid) => !held.has(uid)), test: ids.filter((uid) => held.has(uid)) };
}

/** Hexadecimal rank of an id under a key; smaller ranks are held out first. */
export function splitRank(seed: number, key: string, uid: string): string {
  const salt = createHash('sha256').update(`${seed}\0${key}`).digest().readBigUInt64BE(0);
  return createHash('sha256').update(`${salt}\0${uid}`).digest('hex');
}

function familyOf(uid: string): string {
  const colon = uid.indexOf(':');
  return colon < 0 ? 'single_dataset' : uid.slice(0, colon);
}

function stratumOf({ posterior, trainingValue, passRate, cleanRuns }: Assessment): string {
  const rate = passRate === 0 ? 'zero' : passRate < 0.25 ? 'low' : passRate < 0.75 ? 'medium' : 'high';
  const runs = cleanRuns <= 3 ? 'few' : cleanRuns <= 10 ? 'medium' : 'many';
  return [posterior.band, trainingValue, rate, runs].join('|');
}

/** Ids of one family to hold out; none from a family of one. */
function heldOut(
  family: string,
  members: readonly Assessment[],
  fraction: number,
  seed: number,
): Set<string> {
  const chosen = new Set<string>();
  if (members.length < 2) return chosen;
  const target = heldOutCount(members.length, fraction);
  const strata = grouped(members, stratumOf);
  for (const [stratum, quota] of quotas(strata, fraction, target)) {
    const ids = (strata.get(stratum) ?? []).map(({ uid }) => uid);
    for (const uid of ranked(seed, `${family}\0${stratum}`, ids).slice(0, quota)) chosen.add(uid);
  }
  const rest = members.map(({ uid }) => uid).filter((uid) => !chosen.has(uid));
  for (const uid of ranked(seed, `${family}\0fallback`, rest).slice(0, target - chosen.size)) chosen.add(uid);
  return chosen;
}

/** Of a family of two or more: at least one, never all. */
function heldOutCount(members: number, fraction: number): number {
  return Math.min(Math.max(1, Math.ceil(members * fraction)), members - 1);
}

function ranked(seed: number, key: string, ids: readonly string[]): string[] {
  return ids
    .map((uid) => ({ uid, rank: splitRank(seed, key, uid) }))
    .sort((a, b) => byCodePoint(a.rank, b.rank) || byCodePoint(a.uid, b.uid))
    .map(({ uid }) => uid);
}

/** Held-out tasks of each stratum, together at most `target`; empty where the family cannot serve every stratum. */
function quotas(
  strata: ReadonlyMap<string, readonly Assessment[]>,
  fraction: number,
  target: number,
): Map<string, number> {
  const result = new Map<string, number>();
  const servable = target >= strata.size && [...strata.values()].every(({ length }) => length >= 2);
  if (!servable) return result;
  for (const [stratum, { length }] of strata) {
    result.set(stratum, Math.min(length - 1, Math.max(1, Math.floor(length * fraction))));
  }
  let total = [...result.values()].reduce((sum, quota) => sum + quota, 0);
  // Every quota is at least 1 and target >= number of strata: a quota above 1 is there as long as the total is too large.
  for (; total > target; total--) {
    const [stratum, quota] = [...result].sort((a, b) => b[1] - a[1] || byCodePoint(b[0], a[0]))[0]!;
    result.set(stratum, quota - 1);
  }
  return result;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
