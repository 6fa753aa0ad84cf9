/** Further settings of Verl: none that another part of the run file decides. */
import type { Finding } from '../../../core/cluster.js';
import { unless } from '../../../core/preflight.js';
import { nameOf } from '../../../core/stage-configs.js';
import { decidedNames } from '../../../core/verl/settings.js';
import type { Check, ClusterAsked } from '../asked.js';

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
    return unless(problems, `${decided.size} decided, ${Object.keys(trainer.overrides).length} further`);
  },
};
