/** Verl, its patches and vLLM are those that the run file pins, on every host. */
import type { Finding, HostFacts } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { VerlConfig } from '../../../core/trainers/config.js';
import type { Check, ClusterAsked } from '../asked.js';

/** Without these two a run could not be said to be of any version. */
const NEEDED = ['verl', 'vllm'] as const;

export const versions: Check<ClusterAsked> = {
  name: 'Verl, its patches and vLLM',
  run(asked) {
    const { trainer } = asked;
    const problems = NEEDED.filter((name) => !Object.hasOwn(trainer.pins.packages, name)).map(
      (name): Finding => ({
        place: `trainer.pins.packages.${name}`,
        expected: 'a version',
        found: 'none',
        fix: `Pin it: ${name}: "…"`,
      }),
    );
    const facts = asked.cluster?.facts ?? new Map<string, HostFacts>();
    for (const [host, of] of facts) problems.push(...hostProblems(host, of, trainer));
    if (problems.length === 0 && facts.size === 0) return skipped('no host has answered');
    const pinned = Object.entries(trainer.pins.packages).map(([name, version]) => `${name} ${version}`);
    return unless(problems, `${pinned.join(', ')}, ${trainer.pins.files.length} patched files`);
  },
};

function hostProblems(host: string, facts: HostFacts, { python, pins }: VerlConfig): Finding[] {
  if (facts.pythonProblem !== null) {
    const fix = `Set trainer.python to the Python that has Verl and vLLM on every host.`;
    return [{ place: `${python} on ${host}`, expected: 'a Python', found: facts.pythonProblem, fix }];
  }
  const packages = Object.entries(pins.packages).flatMap(([name, wanted]): Finding[] => {
    const found = facts.packages[name] ?? null;
    if (found === wanted) return [];
    return [
      {
        place: `${name} on ${host}`,
        expected: wanted,
        found: found ?? 'not installed',
        fix: `Install it there: ${python} -m pip install ${name}==${wanted}`,
      },
    ];
  });
  const files = pins.files.flatMap(({ file, sha256 }): Finding[] => {
    const found = facts.files[file] ?? null;
    if (found === sha256) return [];
    return [
      {
        place: `${file} on ${host}`,
        expected: `the patched file, sha256 ${sha256}`,
        found: found === null ? 'no such file' : `sha256 ${found}`,
        fix: 'Apply the patch there, or pin the file that you mean under trainer.pins.files.',
      },
    ];
  });
  return [...packages, ...files];
}
