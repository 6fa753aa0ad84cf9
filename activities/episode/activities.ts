/** `runEpisode`: one try as a Temporal activity, with heartbeats and cancellation. */
import { Context } from '@temporalio/activity';
import type { CampaignConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { EpisodeRef } from '../../core/orchestration.js';
import type { EpisodeSummary } from '../../core/outcome.js';
import { HEARTBEAT } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';
import type { ParityReport } from '../policy/parity.js';
import { episodeInput } from './input.js';
import { EpisodeProgress } from './progress.js';
import { type EpisodeRunner, runTry } from './run-episode.js';

export interface EpisodeDeps extends EpisodeRunner {
  /** The campaign's frozen configuration; asked for every episode, so it is kept per process. */
  readonly config: (campaign: string) => Promise<CampaignConfig>;
  /** Compares our tokens with the trainer's endpoint. Throws `UsageError` that shows the first difference. */
  readonly parity: (signal: AbortSignal) => Promise<ParityReport>;
}

export type EpisodeActivities = ReturnType<typeof createEpisodeActivities>;

export function createEpisodeActivities(deps: EpisodeDeps) {
  return {
    /** Before a campaign samples anything from the trainer: both sides must read text as the same tokens. */
    async proveParity(_campaign: string): Promise<{ readonly tokens: number; readonly controlLike: number }> {
      const context = Context.current();
      const beat = setInterval(() => context.heartbeat(), HEARTBEAT.everyMs);
      try {
        const { tokens, controlLike } = await deps.parity(context.cancellationSignal);
        return { tokens, controlLike: controlLike.length };
      } catch (error) {
        throw context.cancellationSignal.aborted ? asStopped(context.cancellationSignal) : asFailure(error);
      } finally {
        clearInterval(beat);
      }
    },

    async runEpisode(ref: EpisodeRef): Promise<EpisodeSummary> {
      const context = Context.current();
      const signal = context.cancellationSignal;
      const progress = new EpisodeProgress();
      // On a timer, since a turn may take longer than the server waits; also how cancellation gets here.
      const beat = setInterval(() => context.heartbeat(progress.now()), HEARTBEAT.everyMs);
      try {
        const input = episodeInput(ref, await deps.config(ref.campaign));
        return await runTry(deps, input, {
          activityAttempt: context.info.attempt,
          signal,
          onTurn: (turn) => progress.turn(turn),
          onTokens: (tokens) => progress.tokens(tokens),
        });
      } catch (error) {
        throw asActivityError(error, signal);
      } finally {
        clearInterval(beat);
      }
    },
  };
}

function asActivityError(error: unknown, signal: AbortSignal): unknown {
  return error instanceof Fault && error.kind === 'cancelled' ? asStopped(signal) : asFailure(error);
}
