/** The GPUs of the run file are there, on every host, and all of one kind. */
import type { Finding, HostFacts } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { ClusterHost } from '../../../core/trainers/config.js';
import type { Check, ClusterAsked } from '../asked.js';

export const gpus: Check<ClusterAsked> = {
  name: 'GPUs of the hosts',
  run(asked) {
    const { trainer } = asked;
    const facts = asked.cluster?.facts;
    if (!facts?.size) return skipped('no host has answered');
    const problems = trainer.hosts.flatMap((host) => {
      const of = facts.get(host.name);
      return of ? hostProblems(host, of) : [];
    });
    const kinds = new Set([...facts.values()].flatMap((of) => of.gpus.map(({ name }) => name)));
    if (kinds.size > 1) {
      problems.push({
        place: 'GPUs',
        expected: 'one kind on all hosts',
        found: [...kinds].join(' and '),
        fix: 'Take hosts of one kind: the slowest and smallest one decides.',
      });
    }
    const count = trainer.hosts.reduce((sum, host) => sum + host.gpus.length, 0);
    return unless(problems, `${count} × ${[...kinds].join(', ')}`);
  },
};

function hostProblems({ name, gpus: wanted }: ClusterHost, facts: HostFacts): Finding[] {
  const place = `GPUs of ${name}`;
  if (facts.gpuProblem !== null) {
    const fix = 'Install the NVIDIA driver on the host, or let its container see the GPUs.';
    return [{ place, expected: 'a driver that lists them', found: facts.gpuProblem, fix }];
  }
  const there = new Set(facts.gpus.map(({ index }) => index));
  const missing = wanted.filter((gpu) => !there.has(gpu));
  if (missing.length === 0) return [];
  return [
    {
      place,
      expected: `GPUs ${wanted.join(', ')}`,
      found: `no ${missing.join(', ')} (there: ${[...there].join(', ') || 'none'})`,
      fix: 'Set trainer.hosts to the GPUs that the host has, or repair it: nvidia-smi says what it sees.',
    },
  ];
}
