/** The one activity of a host's server queue: it keeps a server as long as anybody needs it. */
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { Fault } from '../../core/faults.js';
import { HEARTBEAT } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';
import type { KeeperDeps } from './deps.js';
import { endServers, type KeptUntil, keepServer } from './keeper.js';

/** The worker went away: the server stays, for the activity that follows. Not a failure, of which there may be only a few. */
export const LEFT = 'left';

export type ServingActivities = ReturnType<typeof createServingActivities>;

export function createServingActivities(deps: KeeperDeps) {
  return {
    /**
     * Returns why the server was ended, or `LEFT`. Fails when this host is given up: then the work belongs on another.
     * When the workflow wants no more of the server, it ends.
     */
    async keepServer(serving: string): Promise<KeptUntil | typeof LEFT> {
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      const heart = setInterval(() => context.heartbeat(), HEARTBEAT.everyMs);
      const { servings, host, say, times } = deps;
      const word = setInterval(() => {
        // What it must know of the ledger, the keeper itself finds out.
        servings.atWork(serving, host).catch((error: unknown) => say(`${serving}: ${String(error)}`));
      }, times.wantedMs);
      try {
        const busy = await deps.busy?.();
        if (busy !== undefined) throw new Fault('trainer', busy, { code: 'host_busy', retry: false });
        if (!(await servings.takeServing(serving, host))) return 'stopped';
        return await keepServer(deps, serving, signal);
      } catch (error) {
        if (!signal.aborted) throw refusal(error);
        if (workerGoes(signal)) return LEFT;
        await endServers(deps, 'ended');
        throw asStopped(signal);
      } finally {
        clearInterval(heart);
        clearInterval(word);
      }
    },
  };
}

/** Not its workflow. */
export function workerGoes({ reason }: AbortSignal): boolean {
  return !(reason instanceof CancelledFailure) || reason.message === 'WORKER_SHUTDOWN';
}

/** What a keeper gives up is for another host; what it could not write or read is tried again here. */
function refusal(error: unknown): unknown {
  if (!(error instanceof Fault) || error.kind !== 'trainer') return asFailure(error);
  const { message, code = 'failed' } = error;
  return ApplicationFailure.create({ message, type: `trainer:${code}`, nonRetryable: true, cause: error });
}
