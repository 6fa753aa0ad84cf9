/** What runs a campaign: a stack that answers, or all that it takes to start the local one. */
import type { Finding } from '../../../core/cluster.js';
import { asFinding, unless } from '../../../core/preflight.js';
import { homeFolder } from '../../../infra/setup/root.mjs';
import { SERVICES } from '../../../infra/stack/plan.js';
import { examine } from '../../../infra/stack/preflight.js';
import { QUEUES } from '../../../temporal.config.js';
import { isPolled } from '../ask.js';
import { type Asked, type Check, verlOf } from '../asked.js';

export const stack: Check = {
  name: 'stack',
  async run(asked) {
    const { env, stack: running } = asked;
    if (running) return unless(await workerProblems(asked), `Temporal at ${running.info.temporal.address}`);
    if (env.TEMPORAL_ADDRESS && env.DATABASE_URL) {
      const found = 'none that answers at TEMPORAL_ADDRESS and DATABASE_URL';
      const fix = 'Start them, or correct the two variables.';
      return unless([{ place: 'Temporal and PostgreSQL', expected: 'both', found, fix }], '');
    }
    if (verlOf(asked)) {
      const fix =
        'Start one that the hosts reach, and name it: TEMPORAL_ADDRESS, DATABASE_URL (docs/workers.md).';
      return unless(
        [{ place: 'Temporal', expected: 'a server that all hosts poll', found: 'none', fix }],
        '',
      );
    }
    const workers = { pipeline: 1, sandbox: 1, gpu: 1 };
    const checks = await examine({ home: homeFolder(), services: SERVICES, workers });
    const problems = checks.flatMap(({ problem }) => (problem ? [asFinding(problem)] : []));
    return unless(problems, 'it can be started: steadfast up');
  },
};

/** Without a worker of each kind a run would start and stand still. */
async function workerProblems(asked: Asked): Promise<Finding[]> {
  const client = await asked.stack!.temporal();
  const wanted = [
    [QUEUES.pipeline, 'workflows'],
    [QUEUES.sandbox, 'activities'],
    ...(verlOf(asked) ? [] : [[QUEUES.gpu, 'activities'] as const]),
  ] as const;
  const polled = await Promise.all(wanted.map(([queue, type]) => isPolled(client, queue, type)));
  return wanted.flatMap(([queue], index): Finding[] => {
    if (polled[index]) return [];
    const fix = `Start one: steadfast workers ${queue}, or steadfast up.`;
    return [{ place: `${queue} worker`, expected: 'one that polls', found: 'none', fix }];
  });
}
