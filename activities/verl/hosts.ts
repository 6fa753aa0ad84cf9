/** The hosts of a run whose trainer is one job, on the pipeline queue: taken before its job is started, and given back. */
import { Context } from '@temporalio/activity';
import type { TrainConfig } from '../../core/campaign.js';
import type { Ledger } from '../../core/ledger.js';
import type { GpuHosts } from '../../core/serving/gpu-hosts.js';
import type { JobNote } from '../../core/verl/job.js';
import { JOB } from '../../temporal.config.js';
import { failing } from '../campaign/activities.js';
import { campaignRow } from '../campaign/deps.js';
import { asStopped } from '../failures.js';
import { paused } from '../serving/paused.js';

export interface RunHostsDeps {
  readonly ledger: Ledger;
  readonly gpuHosts: Pick<GpuHosts, 'takeHosts' | 'releaseHosts'>;
}

export type RunHosts = ReturnType<typeof createRunHosts>;

export function createRunHosts({ ledger, gpuHosts }: RunHostsDeps) {
  async function waits(run: string, words: string): Promise<void> {
    const { config, result } = await campaignRow(ledger, run);
    const { trainer } = config as TrainConfig;
    const { job } = (result ?? {}) as { job?: JobNote };
    const note: JobNote = {
      ...{ step: null, checkpoint: null, restarts: 0, log: null, metrics: null },
      host: trainer?.kind === 'verl' ? trainer.hosts[0]!.name : '',
      ...job,
      ...{ state: 'waiting', problem: `host_busy: ${words}` },
    };
    await ledger.noteOnCampaign(run, { job: note });
  }

  return failing({
    /** Returns when the run has all its hosts. Meanwhile its row says who has the one that it waits for. */
    async takeHosts(run: string): Promise<void> {
      const { cancellationSignal: signal } = Context.current();
      let told: string | undefined;
      for (let taken = await gpuHosts.takeHosts(run); taken; taken = await gpuHosts.takeHosts(run)) {
        if (taken.words !== told) await waits(run, taken.words);
        told = taken.words;
        await paused(JOB.hostsMs, signal).catch((error: unknown) => {
          throw signal.aborted ? asStopped(signal) : error;
        });
      }
    },

    /** The run needs them no more: it has paused or ended. */
    async releaseHosts(run: string): Promise<void> {
      await gpuHosts.releaseHosts(run);
    },
  });
}
