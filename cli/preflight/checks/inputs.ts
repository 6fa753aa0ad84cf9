/** Verl's own files: data sets, agent loop, reward. On every host, and the same. */
import type { Finding, HostFacts } from '../../../core/cluster.js';
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
    problems.push(...facts.flatMap(([host, of]) => rowProblems(host, of, asked)));
    return unless(problems, `${Object.keys(first.inputs).length} files, the same on all hosts`);
  },
};

/** An epoch of a data set that does not fill a batch has no steps, and Verl divides by their number. */
function rowProblems(
  host: string,
  { rows, inputs: digests }: HostFacts,
  { config, trainer }: ClusterAsked,
): Finding[] {
  return Object.entries(rows).flatMap(([file, count]): Finding[] => {
    const place = `${file} on ${host}`;
    // That it is missing is told already.
    if (digests[file] === null) return [];
    const least = file === trainer.data.train ? config.shape.groups : 1;
    if (typeof count === 'string') {
      const fix = 'Write it again, as Parquet or JSON Lines.';
      return [{ place, expected: 'a data set', found: count, fix }];
    }
    if (count >= least) return [];
    const fix = 'Write it from a larger pool, or train with fewer groups: train.shape.groups.';
    return [{ place, expected: `at least ${least} rows, one batch`, found: String(count), fix }];
  });
}
