/** Scored attempts, counted by task: what every score is made from. */
import type { AttemptRow } from '../ledger.js';

export interface TaskCounts {
  readonly taskId: string;
  readonly domain: string;
  readonly template: string;
  /** Scored attempts; a system error is none. */
  readonly attempts: number;
  readonly passed: number;
}

export type ScoredAttempt = Pick<AttemptRow, 'taskId' | 'domain' | 'template'> & { readonly passed: boolean };

/** One entry a task, in order of first appearance. */
export function countTasks(attempts: Iterable<ScoredAttempt>): TaskCounts[] {
  const byTask = new Map<string, { -readonly [field in keyof TaskCounts]: TaskCounts[field] }>();
  for (const { taskId, domain, template, passed } of attempts) {
    let counts = byTask.get(taskId);
    if (!counts) {
      counts = { taskId, domain, template, attempts: 0, passed: 0 };
      byTask.set(taskId, counts);
    }
    counts.attempts += 1;
    if (passed) counts.passed += 1;
  }
  return [...byTask.values()];
}

/** Every one of at least k attempts passed. */
export function isDependable({ attempts, passed }: TaskCounts, k: number): boolean {
  return attempts >= k && passed === attempts;
}
