/** GPUs, parallelism and batch: everything that has to divide, before a process finds out in the middle of the night. */
import type { Finding } from '../../../core/cluster.js';
import { unless } from '../../../core/preflight.js';
import type { ClusterHost } from '../../../core/trainers/config.js';
import type { Asked, Check, ClusterAsked } from '../asked.js';

export const layout: Check<ClusterAsked> = {
  name: 'GPUs and batch',
  run(asked) {
    const { trainer } = asked;
    const problems = layoutProblems(asked.config, trainer);
    const gpus = trainer.hosts.reduce((sum, host) => sum + host.gpus.length, 0);
    const { sequence, rolloutTensor } = trainer.parallel;
    const found = `${trainer.hosts.length} × ${trainer.hosts[0]!.gpus.length} GPUs, ${gpus / sequence} × sequence ${sequence}, ${gpus / rolloutTensor} × rollout tensor ${rolloutTensor}`;
    return unless(problems, found);
  },
};

type Layout = Pick<Asked['config'], 'shape' | 'limits'>;
type Cluster = ClusterAsked['trainer'];

/** Pure. */
export function layoutProblems({ shape, limits }: Layout, trainer: Cluster): readonly Finding[] {
  const { hosts, parallel, modelLength, tokensPerGpu } = trainer;
  const world = hosts.reduce((sum, { gpus }) => sum + gpus.length, 0);
  const batch = shape.groups * shape.groupSize;
  const ranks = world / parallel.sequence;
  const problems = [...hostProblems(hosts)];
  for (const [index, { name, gpus }] of hosts.entries()) {
    if (gpus.length % parallel.rolloutTensor === 0) continue;
    problems.push({
      place: `trainer.hosts.${index}.gpus`,
      expected: `GPUs that rollout tensor parallel ${parallel.rolloutTensor} divides`,
      found: `${gpus.length} on ${name}`,
      fix: 'Give the host another number of GPUs, or set trainer.parallel.rolloutTensor.',
    });
  }
  if (!Number.isInteger(ranks)) {
    problems.push({
      place: 'trainer.parallel.sequence',
      expected: `a divisor of the ${world} GPUs of all hosts`,
      found: `${parallel.sequence}`,
      fix: 'Set trainer.parallel.sequence to a divisor.',
    });
  } else if (batch % ranks !== 0) {
    problems.push({
      place: 'train.shape',
      expected: `groups × groupSize that ${ranks} data-parallel ranks divide (${world} GPUs by sequence ${parallel.sequence})`,
      found: `${shape.groups} × ${shape.groupSize} = ${batch}`,
      fix: 'Set another number of groups or members, or other parallelism.',
    });
  }
  if (modelLength < limits.promptTokens + limits.tokensPerEpisode) {
    problems.push({
      place: 'trainer.modelLength',
      expected: `at least prompt and response, ${limits.promptTokens} + ${limits.tokensPerEpisode} = ${limits.promptTokens + limits.tokensPerEpisode} tokens`,
      found: `${modelLength}`,
      fix: 'Raise trainer.modelLength, or lower limits.promptTokens or limits.tokensPerEpisode.',
    });
  }
  if (tokensPerGpu * parallel.sequence < modelLength) {
    problems.push({
      place: 'trainer.tokensPerGpu',
      expected: `at least ${Math.ceil(modelLength / parallel.sequence)}, so that the longest episode fits the ${parallel.sequence} GPUs that share it`,
      found: `${tokensPerGpu}`,
      fix: 'Leave trainer.tokensPerGpu away, or raise it.',
    });
  }
  return problems;
}

function hostProblems(hosts: readonly ClusterHost[]): Finding[] {
  const problems: Finding[] = [];
  const seen = new Set<string>();
  for (const [index, { name, gpus }] of hosts.entries()) {
    const place = `trainer.hosts.${index}`;
    if (seen.has(name)) {
      const fix = 'Name every host once, with all of its GPUs.';
      problems.push({ place: `${place}.name`, expected: 'every host once', found: `${name} again`, fix });
    }
    seen.add(name);
    const twice = gpus.find((gpu, at) => gpus.indexOf(gpu) !== at);
    if (twice !== undefined) {
      const found = `GPU ${twice} twice: ${gpus.join(', ')}`;
      problems.push({
        place: `${place}.gpus`,
        expected: 'every GPU once',
        found,
        fix: 'List each GPU once.',
      });
    }
    if (gpus.length !== hosts[0]!.gpus.length) {
      problems.push({
        place: `${place}.gpus`,
        expected: `${hosts[0]!.gpus.length} GPUs as on ${hosts[0]!.name}, since Verl takes the same number of each host`,
        found: `${gpus.length} on ${name}`,
        fix: 'Give all hosts the same number of GPUs.',
      });
    }
  }
  return problems;
}
