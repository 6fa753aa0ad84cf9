/** The reference screen: which tasks a stronger model solves often enough to be worth a probe. */
import type { ScreenRule } from '../campaign.js';
import type { AttemptRow } from '../ledger.js';

export interface Screened {
  /** In the order of the tasks. */
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Attempts without a result could still make them pass: a fault is no failure. */
  readonly undecided: readonly string[];
}

export function screenTasks(
  tasks: readonly string[],
  attempts: readonly Pick<AttemptRow, 'taskId' | 'state' | 'passed'>[],
  { minCleanRuns, minSuccesses }: Pick<ScreenRule, 'minCleanRuns' | 'minSuccesses'>,
): Screened {
  const counts = new Map(tasks.map((id) => [id, { clean: 0, successes: 0, open: 0 }]));
  for (const { taskId, state, passed } of attempts) {
    const count = counts.get(taskId);
    if (!count) continue;
    if (state !== 'clean') count.open += 1;
    else {
      count.clean += 1;
      if (passed) count.successes += 1;
    }
  }
  const passes = (id: string, may: 'is' | 'could be') => {
    const { clean, successes, open } = counts.get(id)!;
    const more = may === 'is' ? 0 : open;
    return clean + more >= minCleanRuns && successes + more >= minSuccesses;
  };
  return {
    passed: tasks.filter((id) => passes(id, 'is')),
    failed: tasks.filter((id) => !passes(id, 'could be')),
    undecided: tasks.filter((id) => passes(id, 'could be') && !passes(id, 'is')),
  };
}
