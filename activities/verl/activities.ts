/** The job of a run on its first host, on the queue of that host's GPUs: one slot, so nothing else has them meanwhile. */
import { Context } from '@temporalio/activity';
import type { JobNote } from '../../core/verl/job.js';
import { HEARTBEAT } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';
import { workerGoes } from '../serving/activities.js';
import type { JobDeps } from './deps.js';
import { endJobs, type JobDone, keepJob } from './keeper.js';

export type JobActivities = ReturnType<typeof createJobActivities>;

export function createJobActivities(deps: JobDeps) {
  return {
    /**
     * Returns when the last step is saved. When the worker goes away the job stays, for the execution that follows; when
     * the workflow wants no more of it (stop, pause), it ends.
     */
    async keepJob(run: string): Promise<JobDone> {
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      let told: JobNote | undefined;
      const heart = setInterval(() => context.heartbeat(told), HEARTBEAT.everyMs);
      try {
        return await keepJob(deps, run, signal, (note) => {
          told = note;
        });
      } catch (error) {
        if (!signal.aborted) throw asFailure(error);
        if (!workerGoes(signal)) await endJobs(deps, run, 'ended');
        throw asStopped(signal);
      } finally {
        clearInterval(heart);
      }
    },
  };
}
