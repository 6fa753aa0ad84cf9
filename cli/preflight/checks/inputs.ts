/** Verl's own files: data sets, agent loop, reward. On every host, and the same. */
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Check, ClusterAsked } from '../asked.js';

export const inputs: Check<ClusterAsked> = {
  name: 'data sets and agent loop',
  run(asked) {
    const facts = [...(asked.cluster?.facts ?? [])];
    if (facts.length === 0) return skipped('no host has answered');
    const [[firstHost, first]] = facts as [(typeof facts)[number]];
    const problems = facts.flatMap(([host, { inputs: digests }]) =>
      Object.entries(digests).flatMap(([file, digest]): Finding[] => {
        const place = `${file} on ${host}`;
        if (digest === null) {
          const fix = 'Put the file there, or correct trainer.data, trainer.agentLoop or trainer.reward.';
          return [{ place, expected: 'a file', found: 'none that can be read', fix }];
        }
        const wanted = first.inputs[file];
        if (wanted === digest || wanted === null || wanted === undefined) return [];
        const fix = 'Copy the file again: all hosts must read the same.';
        return [{ place, expected: `sha256 ${wanted}, as on ${firstHost}`, found: `sha256 ${digest}`, fix }];
      }),
    );
    return unless(problems, `${Object.keys(first.inputs).length} files, the same on all hosts`);
  },
};
