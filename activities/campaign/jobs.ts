/** The pipeline's side of a run whose trainer is one job: where it runs, and that it runs. */
import { Fault } from '../../core/faults.js';
import type { JobNote } from '../../core/verl/job.js';
import { type CampaignDeps, type Configurations, campaignRow } from './deps.js';
import { keepRecord } from './reproducibility.js';

export function createJobRunActivities(deps: CampaignDeps, configs: Configurations) {
  const { ledger } = deps;
  return {
    /** The host that starts the job. A person has started the run: it has all its restarts again. */
    async openJob(run: string): Promise<{ readonly host: string }> {
      const { trainer } = await configs.ofKind(run, 'train');
      if (trainer?.kind !== 'verl') {
        const message = `${run}: expected a trainer that is one job, found ${trainer?.kind ?? "the stack's"}`;
        throw new Fault('trainer', message, { retry: false });
      }
      const { job } = ((await campaignRow(ledger, run)).result ?? {}) as { job?: JobNote };
      const again = job ? { job: { ...job, restarts: 0, problem: null } } : {};
      // Hosts that an earlier execution had taken may be somebody else's by now.
      await ledger.noteOnCampaign(run, { ...again, gpuHosts: [], cause: null }, 'running');
      await keepRecord(deps, run);
      return { host: trainer.hosts[0]!.name };
    },
  };
}
