/** What lies in the checkpoint folder already: of this run, whole, and saved by as many processes as there will be. */

import type { TrainConfig } from '../../../core/campaign.js';
import type { Finding } from '../../../core/cluster.js';
import { OWNER_FILE } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Asked, Check, ClusterAsked } from '../asked.js';

export const existing: Check<ClusterAsked> = {
  name: 'existing checkpoints',
  async run(asked) {
    const { trainer } = asked;
    const problems = await otherRuns(asked, trainer.checkpoints);
    const found = asked.cluster?.checkpoints;
    if (!found) return problems.length > 0 ? unless(problems, '') : skipped('no host has answered');
    const folder = trainer.checkpoints;
    if (found.owner !== null && found.owner !== asked.id) {
      problems.push({
        place: `${folder}/${OWNER_FILE}`,
        expected: `the folder of ${asked.id}`,
        found: `that of ${found.owner}`,
        fix: 'Give each run a checkpoint folder of its own: trainer.checkpoints.',
      });
    } else if (found.owner === null && found.steps.length > 0) {
      problems.push({
        place: folder,
        expected: 'checkpoints of this run, or none',
        found: `${found.steps.length} of nobody knows which run, the newest of step ${found.steps.at(-1)!.step}`,
        fix: 'Verl would go on from them. Name an empty folder: trainer.checkpoints.',
      });
    }
    const world = trainer.hosts.reduce((sum, host) => sum + host.gpus.length, 0);
    for (const { step, worldSize, missing } of found.steps) {
      const place = `${folder}/global_step_${step}`;
      if (worldSize !== null && worldSize !== world) {
        const fix = `Train on ${worldSize} GPUs as before, or start a new run in another folder.`;
        problems.push({ place, expected: `shards of ${world} processes`, found: `of ${worldSize}`, fix });
      } else if (missing.length > 0) {
        const fix = `Move it away: it was not written to its end, and Verl would ${step === found.latest ? 'restart from it' : 'keep it'}.`;
        problems.push({ place, expected: 'a whole checkpoint', found: `no ${missing.join(', ')}`, fix });
      }
    }
    const newest = found.steps.at(-1);
    if (found.latest !== null && !found.steps.some(({ step }) => step === found.latest)) {
      problems.push({
        place: `${folder}/latest_checkpointed_iteration.txt`,
        expected: newest
          ? `a step that is there, e.g. ${newest.step}`
          : 'no such file where no step is saved',
        found: String(found.latest),
        fix: 'Correct the file: Verl would start from nothing without a word.',
      });
    }
    return unless(
      problems,
      newest ? `${found.steps.length} whole ones up to step ${newest.step}` : 'none yet',
    );
  },
};

/** Two runs that save into one folder overwrite each other's checkpoints, and each goes on from the other's weights. */
async function otherRuns({ stack, id }: Asked, folder: string): Promise<Finding[]> {
  if (!stack) return [];
  const ledger = await stack.ledger();
  const runs = await ledger.campaigns({ kind: 'train', limit: 1_000 });
  const findings: Finding[] = [];
  for (const run of runs) {
    if (run.id === id) continue;
    const config = (await ledger.campaign(run.id))?.config as TrainConfig | undefined;
    if (config?.trainer?.kind !== 'verl' || config.trainer.checkpoints !== folder) continue;
    findings.push({
      place: 'trainer.checkpoints',
      expected: 'a folder that no other run has',
      found: `${folder}, which ${run.id} (${run.state}) has`,
      fix: 'Give each run a checkpoint folder of its own.',
    });
  }
  return findings;
}
