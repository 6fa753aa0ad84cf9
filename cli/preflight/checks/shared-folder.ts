/** The checkpoint folder is one folder: what each host writes there, all others read. */
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Check, ClusterAsked } from '../asked.js';

export const sharedFolder: Check<ClusterAsked> = {
  name: 'checkpoint folder',
  run(asked) {
    const { cluster } = asked;
    const { trainer } = asked;
    if (!cluster?.facts.size) return skipped('no host has answered');
    const folder = trainer.checkpoints;
    const problems: Finding[] = [];
    for (const [host, facts] of cluster.facts) {
      const problem = facts.folders[folder]?.problem ?? cluster.unwritten.get(host);
      if (problem) {
        const fix = 'Make the folder on storage that all hosts share, and let the workers write to it.';
        problems.push({
          place: `${folder} on ${host}`,
          expected: 'a folder to write to',
          found: problem,
          fix,
        });
      }
    }
    for (const [host, sight] of cluster.sights) {
      const unseen = Object.entries(sight).filter(([, how]) => how !== 'seen');
      if (unseen.length === 0 || cluster.unwritten.has(host)) continue;
      const kind = cluster.facts.get(host)?.folders[folder]?.fileSystem ?? 'unknown';
      problems.push({
        place: `${folder} on ${host}`,
        expected: 'the files that all other hosts write there',
        found: `${unseen.map(([writer, how]) => `${writer}'s ${how}`).join(', ')} (file system: ${kind})`,
        fix: 'Mount the same storage there on every host: a checkpoint in parts on local disks cannot be restored.',
      });
    }
    const kinds = new Set([...cluster.facts.values()].map(({ folders }) => folders[folder]?.fileSystem));
    const proof = cluster.facts.size > 1 ? `written and read by ${cluster.facts.size} hosts` : 'of one host';
    return unless(problems, `${folder}, ${proof} (${[...kinds].join(', ')})`);
  },
};
