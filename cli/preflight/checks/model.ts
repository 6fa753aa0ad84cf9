/** The model: whole on every host, the same on all, with the control tokens, and heads that the parallelism divides. */
import type { Finding, HostFacts, ModelFacts } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { VerlConfig } from '../../../core/trainers/config.js';
import type { Check, ClusterAsked } from '../asked.js';

export const model: Check<ClusterAsked> = {
  name: 'model',
  run(asked) {
    const { trainer } = asked;
    if (!trainer.model.startsWith('/')) return unless([notAbsolute(trainer.model)], '');
    const facts = [...(asked.cluster?.facts ?? [])];
    if (facts.length === 0) return skipped('no host has answered');
    const problems = [...broken(facts), ...different(facts, trainer), ...shape(facts, trainer)];
    const first = facts[0]![1].model;
    return unless(problems, first ? `${words(first)}, ${first.digest}` : '');
  },
};

function notAbsolute(name: string): Finding {
  const hub = /^[\w.-]+\/[\w.-]+$/.test(name);
  return {
    place: 'trainer.model',
    expected: 'the absolute path of a folder with the model, on every host',
    found: `${JSON.stringify(name)}${hub ? ', which is the form of a hub id' : ''}${name.startsWith('~') ? ', whose ~ nobody replaces' : ''}`,
    fix: 'Download the model to every host first: a run must not wait for a hub, or get another revision from it.',
  };
}

const words = ({ type, parameters, files }: ModelFacts): string =>
  `${type ?? 'model'}, ${(parameters / 1e9).toFixed(1)} billion parameters in ${files} files`;

/** One line for the same problem on many hosts. */
function broken(facts: readonly [string, HostFacts][]): Finding[] {
  const found = new Map<string, { problem: Finding; hosts: string[] }>();
  for (const [host, { model: of }] of facts) {
    for (const problem of of?.problems ?? []) {
      const key = JSON.stringify(problem);
      const known = found.get(key);
      if (known) known.hosts.push(host);
      else found.set(key, { problem, hosts: [host] });
    }
  }
  return [...found.values()].map(({ problem, hosts }) => ({
    ...problem,
    place: `${problem.place} on ${hosts.join(', ')}`,
  }));
}

function different(facts: readonly [string, HostFacts][], trainer: VerlConfig): Finding[] {
  const whole = facts.flatMap(([host, { model: of }]) => (of?.digest ? [{ host, digest: of.digest }] : []));
  const wanted = trainer.modelDigest ?? whole[0]?.digest;
  return whole
    .filter(({ digest }) => digest !== wanted)
    .map(({ host, digest }) => ({
      place: `${trainer.model} on ${host}`,
      expected: `${wanted}, ${trainer.modelDigest ? 'as trainer.modelDigest says' : `as on ${whole[0]!.host}`}`,
      found: digest,
      fix: 'Copy the model again: all hosts must start from the same weights.',
    }));
}

function shape(facts: readonly [string, HostFacts][], trainer: VerlConfig): Finding[] {
  const of = facts.map(([, { model: known }]) => known).find((known) => known && known.type !== null);
  if (!of) return [];
  const { rolloutTensor, sequence } = trainer.parallel;
  const problems: Finding[] = [];
  const divides = (place: string, heads: number | null, by: number) => {
    if (heads === null || heads % by === 0) return;
    const fix = `Set ${place} to a divisor of the model's ${heads} attention heads.`;
    problems.push({ place, expected: `a divisor of ${heads} attention heads`, found: String(by), fix });
  };
  divides('trainer.parallel.rolloutTensor', of.attentionHeads, rolloutTensor);
  divides('trainer.parallel.sequence', of.attentionHeads, sequence);
  if (of.positions !== null && of.positions < trainer.modelLength) {
    problems.push({
      place: 'trainer.modelLength',
      expected: `at most ${of.positions}, which the model was made for`,
      found: String(trainer.modelLength),
      fix: 'Lower trainer.modelLength and the limits that it follows from.',
    });
  }
  return problems;
}
