/** Every host answers on its own queue. */
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Check, ClusterAsked } from '../asked.js';
import { NO_WORKFLOWS } from '../cluster.js';

export const hosts: Check<ClusterAsked> = {
  name: 'hosts',
  run(asked) {
    const { cluster } = asked;
    if (!cluster) return skipped('nobody can be asked without Temporal');
    const unasked = [...cluster.silent.values()].every((why) => why === NO_WORKFLOWS);
    if (cluster.silent.size > 0 && unasked && cluster.facts.size === 0) {
      const fix = 'Start one: steadfast up, or steadfast workers pipeline.';
      return unless([{ place: 'pipeline worker', expected: 'one that polls', found: 'none', fix }], '');
    }
    const problems = [...cluster.silent].map(
      ([host, why]): Finding => ({
        place: `host ${host}`,
        expected: 'an answer of its worker',
        found: why,
        fix: `Start it there: steadfast workers gpu --host ${host}`,
      }),
    );
    const machines = [...cluster.facts].map(([host, { machine }]) =>
      host === machine ? host : `${host} (${machine})`,
    );
    return unless(problems, machines.join(', '));
  },
};
