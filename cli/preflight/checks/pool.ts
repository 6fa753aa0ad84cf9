/** The pool: enough for one batch, none of the benchmark's, every id known to the suite. */
import { asFinding, unless } from '../../../core/preflight.js';
import { chooseTasks, trainProblems } from '../../run/resolve.js';
import type { Check } from '../asked.js';

/** A pool that does not fill a batch would be an epoch of no steps. */
const FIXES: Readonly<Record<string, string>> = {
  'training pool': 'Name a larger pool that holds no benchmark task: steadfast select makes one.',
  'task list': 'Name tasks of the suite: steadfast suite list',
};

export const pool: Check = {
  name: 'pool of tasks',
  async run({ file, suite, pool: asked, config }) {
    const problems = (await trainProblems(file, suite, asked)).map((problem) =>
      asFinding(problem, FIXES[problem.place]),
    );
    try {
      await chooseTasks(suite, asked);
    } catch (error) {
      problems.push(asFinding(error, FIXES['task list']));
    }
    const { groups, groupSize } = config.shape;
    return unless(problems, `${config.tasks.length} tasks for batches of ${groups} × ${groupSize}`);
  },
};
