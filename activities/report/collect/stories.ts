/**
 * Which episodes are worth reading: one task gained by training, one solved, one lost, and one never solved where
 * nothing was lost. Chosen by the rows alone, ties by id, so that the same campaign always tells the same stories.
 */
import type { ArtifactStore } from '../../../core/artifacts.js';
import type { AttemptRow } from '../../../core/ledger.js';
import type { EpisodeView, StoryReport } from '../../../core/report-data.js';
import { readEpisode } from './trajectory.js';

/** The attempts that stories are told from. */
export interface StorySide {
  readonly attempts: readonly AttemptRow[];
  /** Counts may be told: coverage is complete. */
  readonly scored: boolean;
}

interface Task {
  readonly taskId: string;
  readonly domain: string;
  readonly rows: readonly AttemptRow[];
  readonly passed: number;
  readonly rate: number;
}

interface Pair {
  readonly before: Task | null;
  readonly after: Task;
}

interface Choice {
  readonly kind: StoryReport['kind'];
  readonly pair: Pair;
  /** In the order of telling. */
  readonly rows: readonly (readonly [label: string, row: AttemptRow | undefined])[];
}

function byTask(side: StorySide | null): Map<string, Task> {
  const groups = new Map<string, AttemptRow[]>();
  for (const row of side?.attempts ?? []) {
    if (row.state !== 'clean' || row.trajectory === null) continue;
    const rows = groups.get(row.taskId);
    if (rows) rows.push(row);
    else groups.set(row.taskId, [row]);
  }
  return new Map(
    [...groups].map(([taskId, rows]) => {
      const passed = rows.filter((row) => row.passed).length;
      return [taskId, { taskId, domain: rows[0]?.domain ?? '', rows, passed, rate: passed / rows.length }];
    }),
  );
}

/** The item with the largest value; the smallest task id on a tie. Undefined when none is wanted. */
function best(
  pairs: readonly Pair[],
  wanted: (pair: Pair) => boolean,
  value: (pair: Pair) => number,
): Pair | undefined {
  return pairs
    .filter(wanted)
    .sort((a, b) => value(b) - value(a) || (a.after.taskId < b.after.taskId ? -1 : 1))[0];
}

/** The attempt of most policy calls: the one with something to see. First in plan order on a tie. */
function liveliest(rows: readonly AttemptRow[], passed: boolean): AttemptRow | undefined {
  const calls = (row: AttemptRow): number => row.usage?.policyCalls ?? 0;
  return [...rows].filter((row) => row.passed === passed).sort((a, b) => calls(b) - calls(a))[0];
}

/** A failed and a passed attempt, of the same repetition where there is one: same seed, other weights. */
function contrast(
  from: Task,
  to: Task,
  passedBefore: boolean,
): readonly [AttemptRow | undefined, AttemptRow | undefined] {
  for (const row of from.rows) {
    if (row.passed !== passedBefore) continue;
    const twin = to.rows.find((other) => other.slot === row.slot && other.passed === !passedBefore);
    if (twin) return [row, twin];
  }
  return [liveliest(from.rows, passedBefore), liveliest(to.rows, !passedBefore)];
}

function choose(pairs: readonly Pair[], alone: string): readonly Choice[] {
  const change = ({ before, after }: Pair): number => (before ? after.rate - before.rate : 0);
  const calls = ({ after }: Pair): number => liveliest(after.rows, true)?.usage?.policyCalls ?? 0;
  const choices: Choice[] = [];
  const gained =
    best(pairs, (pair) => change(pair) > 0 && pair.after.rate === 1, change) ??
    best(pairs, (pair) => change(pair) > 0, change);
  if (gained?.before) {
    const [row, twin] = contrast(gained.before, gained.after, false);
    const same = row?.slot === twin?.slot;
    choices.push({
      kind: 'gained',
      pair: gained,
      rows: [
        ['Before training: a failed attempt', row],
        [same ? 'After training: the same attempt' : 'After training: an attempt that passed', twin],
      ],
    });
  }
  const solved =
    best(pairs, (pair) => pair.after.rate === 1 && pair !== gained, calls) ??
    best(
      pairs,
      (pair) => pair.after.passed > 0 && pair !== gained,
      (pair) => pair.after.rate,
    );
  if (solved)
    choices.push({ kind: 'solved', pair: solved, rows: [[alone, liveliest(solved.after.rows, true)]] });
  const lost =
    best(
      pairs,
      (pair) => pair.before?.rate === 1 && change(pair) < 0,
      (pair) => -change(pair),
    ) ??
    best(
      pairs,
      (pair) => change(pair) < 0,
      (pair) => -change(pair),
    );
  if (lost?.before) {
    const [row, twin] = contrast(lost.before, lost.after, true);
    choices.push({
      kind: 'lost',
      pair: lost,
      rows: [
        ['Before training: an attempt that passed', row],
        ['After training: a failed attempt', twin],
      ],
    });
  } else {
    const hard = best(
      pairs,
      (pair) => pair.after.rate < 1,
      (pair) => -pair.after.rate,
    );
    if (hard)
      choices.push({ kind: 'unsolved', pair: hard, rows: [[alone, liveliest(hard.after.rows, false)]] });
  }
  return choices;
}

/** Reads the chosen trajectories, four at most. One that cannot be read leaves a warning and the others. */
export async function collectStories(
  artifacts: ArtifactStore,
  before: StorySide | null,
  after: StorySide | null,
  warnings: string[],
): Promise<readonly StoryReport[]> {
  const last = after ?? before;
  if (!last) return [];
  const [from, to] = [byTask(after ? before : null), byTask(last)];
  const pairs = [...to.values()].map((task) => ({ before: from.get(task.taskId) ?? null, after: task }));
  const stories: StoryReport[] = [];
  for (const { kind, pair, rows } of choose(pairs, after && before ? 'After training' : 'As recorded')) {
    const episodes: EpisodeView[] = [];
    for (const [label, row] of rows) {
      const episode = row && (await readEpisode(artifacts, row, label, warnings));
      if (episode) episodes.push(episode);
    }
    if (episodes.length === 0) continue;
    const told = (task: Task | null, side: StorySide | null): StoryReport['before'] =>
      task && side?.scored ? { passed: task.passed, attempts: task.rows.length } : null;
    stories.push({
      kind,
      taskId: pair.after.taskId,
      domain: pair.after.domain,
      before: told(pair.before, before),
      after: told(pair.after, last),
      episodes,
    });
  }
  return stories;
}
