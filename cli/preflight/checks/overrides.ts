/** Further settings of Verl: none that another part of the run file decides. */
import type { Finding } from '../../../core/cluster.js';
import { unless } from '../../../core/preflight.js';
import { nameOf } from '../../../core/stage-configs.js';
import { decidedNames } from '../../../core/verl/settings.js';
import type { Check, ClusterAsked } from '../asked.js';
import type { ClusterAnswers } from '../cluster.js';

export const overrides: Check<ClusterAsked> = {
  name: 'settings of Verl',
  run(asked) {
    const { trainer } = asked;
    const decided = new Set(decidedNames(nameOf(asked.id), { ...asked.config, trainer }));
    const problems = Object.keys(trainer.overrides)
      .filter((name) => decided.has(name.replace(/^\+/, '')))
      .map(
        (name): Finding => ({
          place: `trainer.overrides.${name}`,
          expected: 'a setting that no other part of the run file decides',
          found: JSON.stringify(trainer.overrides[name]),
          fix: 'Take it out, and set the part of the run file that it follows from (docs/run-file.md).',
        }),
      );
    const composed = asked.cluster?.composed;
    problems.push(...composedProblems(composed, trainer.python));
    const digest = typeof composed === 'object' ? `, whole configuration ${composed.digest}` : '';
    const further = Object.keys(trainer.overrides).length;
    return unless(problems, `${decided.size} decided, ${further} further${digest}`);
  },
};

/** What the Verl that is installed says of them. */
function composedProblems(composed: ClusterAnswers['composed'], python: string): Finding[] {
  if (composed === undefined) return [];
  if (typeof composed === 'string') {
    const fix = `Install Verl with all that it needs: ${python} -m pip install verl`;
    return [{ place: 'settings of Verl', expected: 'a Verl that takes them', found: composed, fix }];
  }
  return Object.entries(composed.refused).map(([name, found]) => ({
    place: name || 'settings of Verl',
    expected: 'a setting that the installed Verl has',
    found,
    fix: 'Correct trainer.overrides, or install the Verl that trainer.pins names.',
  }));
}
