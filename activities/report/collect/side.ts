/** One side of a comparison, wherever its rows lie: the evaluation, the runs of each task, and conversations on demand. */
import type { EpisodeView, EvaluationReport } from '../../../core/report-data.js';

/** One attempt of a task: 1 passed, 0 failed, null without a score. */
export interface TaskRun {
  readonly repetition: string;
  readonly passed: boolean | null;
}

export interface WantedEpisode {
  readonly taskId: string;
  readonly repetition: string;
  /** How the episode is headed. */
  readonly label: string;
}

export interface ComparedSide {
  readonly evaluation: EvaluationReport;
  readonly warnings: readonly string[];
  /** By task id; in the order of repetitions. */
  readonly runs: ReadonlyMap<string, readonly TaskRun[]>;
  /** By `episodeName`. What was not recorded, or cannot be read, is left out. */
  episodes(wanted: readonly WantedEpisode[]): Promise<ReadonlyMap<string, EpisodeView>>;
}

export function episodeName({ taskId, repetition }: Pick<WantedEpisode, 'taskId' | 'repetition'>): string {
  return `${taskId} · ${repetition}`;
}

/** Runs by task, repetitions in numeric order. */
export function runsByTask<R extends TaskRun & { readonly taskId: string }>(
  rows: Iterable<R>,
): ReadonlyMap<string, readonly TaskRun[]> {
  const runs = new Map<string, TaskRun[]>();
  for (const { taskId, repetition, passed } of rows) {
    const own = runs.get(taskId);
    if (own) own.push({ repetition, passed });
    else runs.set(taskId, [{ repetition, passed }]);
  }
  for (const own of runs.values()) own.sort((a, b) => Number(a.repetition) - Number(b.repetition));
  return runs;
}
