/** `runEpisode`: one try as a Temporal activity, with heartbeats and cancellation. */
import { Context } from '@temporalio/activity';
import type { CampaignConfig, ModelRef } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { EpisodeRef } from '../../core/orchestration.js';
import type { EpisodeSummary } from '../../core/outcome.js';
import type { ParityNote, ParityReport } from '../../core/parity.js';
import { HEARTBEAT } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';
import { episodeInput, modelOf } from './input.js';
import { EpisodeProgress } from './progress.js';
import { type EpisodeRunner, runTry } from './run-episode.js';

export interface EpisodeDeps extends EpisodeRunner {
  /** The campaign's frozen configuration; asked for every episode, so it is kept per process. */
  readonly config: (campaign: string) => Promise<CampaignConfig>;
  /** Compares our tokens with the model's endpoint; null where nobody asks it. Throws `UsageError` that shows both sides. */
  readonly parity: (model: ModelRef, signal: AbortSignal, campaign: string) => Promise<ParityReport | null>;
}

export type EpisodeActivities = ReturnType<typeof createEpisodeActivities>;

export function createEpisodeActivities(deps: EpisodeDeps) {
  return {
    /** Before a campaign samples any token: both sides must read text as the same ones. What was found is noted on it. */
    async proveParity(campaign: string): Promise<{ readonly tokens: number; readonly controlLike: number }> {
      const context = Context.current();
      const beat = setInterval(() => context.heartbeat(), HEARTBEAT.everyMs);
      try {
        const model = modelOf(await deps.config(campaign));
        const report = await deps.parity(model, context.cancellationSignal, campaign);
        const at = new Date().toISOString();
        const parity: ParityNote = report ? { at, state: 'proven', ...report } : { at, state: 'skipped' };
        await deps.ledger.noteOnCampaign(campaign, { parity });
        return { tokens: report?.tokens ?? 0, controlLike: report?.controlLike.length ?? 0 };
      } catch (error) {
        if (context.cancellationSignal.aborted) throw asStopped(context.cancellationSignal);
        throw asFailure(context.info.attempt < MOST_UNREADABLE ? error : asRefused(error));
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

/** A server that starts up, or its proxy, may write a page first; one that still does after some seconds is another. */
const MOST_UNREADABLE = 5;

/** Where nothing was sampled yet, a person should hear of it rather than Temporal. */
function asRefused(error: unknown): unknown {
  if (!(error instanceof Fault) || error.code !== 'unreadable') return error;
  return new Fault(error.kind, error.message, { cause: error, code: error.code, retry: false });
}

function asActivityError(error: unknown, signal: AbortSignal): unknown {
  return error instanceof Fault && error.kind === 'cancelled' ? asStopped(signal) : asFailure(error);
}
