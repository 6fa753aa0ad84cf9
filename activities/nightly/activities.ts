/** What the pipeline queue does for a night of a schedule: begin, claim its evaluation, judge it, tell of it, report it. */
import { Context } from '@temporalio/activity';
import {
  followedRun,
  type NightCheckpoint,
  type NightRef,
  nightEvaluation,
} from '../../core/nightly/schedule.js';
import { type Place, placeOf } from '../../core/sharing.js';
import { SHARD_SIZE } from '../../temporal.config.js';
import { failing } from '../campaign/activities.js';
import { writeReportFiles } from '../report/files.js';
import { writeScheduleReport } from '../report/nightly/files.js';
import { claimEvaluation } from './claim.js';
import { type Closed, closeWithScores } from './close.js';
import { type NightlyDeps, nightOf, scheduleOf } from './deps.js';
import { missedNights } from './due.js';
import { post, regressionMessage } from './webhook.js';

export type NightlyActivities = ReturnType<typeof createNightlyActivities>;

/** What a night is to do. */
export interface NightPlan {
  /** It has its score already. */
  readonly done: boolean;
  /** The run of which the newest checkpoint is to be found; null: the model is known. */
  readonly follow: string | null;
  readonly lanes: number;
  /** Absent: the usual of an evaluation. */
  readonly place?: Place;
  /** Whether somebody is to be told of a regression. */
  readonly tells: boolean;
}

export interface ClaimedNight {
  readonly evaluation: string;
  /** Leases that its evaluation takes on the trainer's weights; 0: none of them are asked. */
  readonly leases: number;
}

export function createNightlyActivities(deps: NightlyDeps) {
  const { schedules, ledger } = deps;

  return failing({
    async openNight(ref: NightRef): Promise<NightPlan> {
      const { config } = await scheduleOf(schedules, ref.schedule);
      const night = await schedules.openNight(ref, nightEvaluation(ref));
      const claimed = await ledger.campaign(night.evaluation);
      return {
        done: night.state === 'done',
        follow: claimed ? null : followedRun(config.evaluation),
        lanes: config.lanes,
        place: placeOf(config),
        tells: config.webhookEnv !== null,
      };
    },

    async claimNight(ref: NightRef, checkpoint: NightCheckpoint | null): Promise<ClaimedNight> {
      const night = await nightOf(schedules, ref);
      const schedule = await scheduleOf(schedules, ref.schedule);
      const pinned = night.record.checkpoint ?? checkpoint;
      const { model, tasks, repeat } = await claimEvaluation(deps, schedule, night, pinned);
      // A shard goes on as a new execution once at most; giving back more than was taken does no harm.
      const executions = 2 * Math.ceil((tasks.length * repeat) / SHARD_SIZE);
      return { evaluation: night.evaluation, leases: model.kind === 'trainer' ? executions : 0 };
    },

    async closeNight(ref: NightRef): Promise<Closed> {
      const schedule = await scheduleOf(schedules, ref.schedule);
      return closeWithScores(deps, schedule, await nightOf(schedules, ref));
    },

    async failNight(ref: NightRef, state: 'failed' | 'stopped', cause: string): Promise<void> {
      await schedules.noteNight(ref, { cause, regression: false }, state);
    },

    /** Tells of the night's regression. Throws while the address does not take it. */
    async tellRegression(ref: NightRef): Promise<void> {
      const schedule = await scheduleOf(schedules, ref.schedule);
      const night = await nightOf(schedules, ref);
      const variable = schedule.config.webhookEnv;
      if (variable === null || night.record.webhook?.state === 'sent') return;
      const { cancellationSignal } = Context.current();
      const message = regressionMessage(schedule, night);
      const status = await post(deps.environment[variable], variable, message, cancellationSignal);
      const at = new Date().toISOString();
      await schedules.noteNight(ref, { webhook: { state: 'sent', status, error: null, at } });
    },

    async noteUntold(ref: NightRef, error: string): Promise<void> {
      const status = Number(/answered (\d{3})$/.exec(error)?.[1] ?? Number.NaN);
      await schedules.noteNight(ref, {
        webhook: {
          state: 'failed',
          status: Number.isNaN(status) ? null : status,
          error,
          at: new Date().toISOString(),
        },
      });
    },

    /** The reports of the night's evaluation and of the whole schedule. */
    async writeNightReport(ref: NightRef): Promise<{ readonly path: string }> {
      const night = await nightOf(schedules, ref);
      const schedule = await scheduleOf(schedules, ref.schedule);
      const { allowIncomplete = false } = schedule.config;
      if (await ledger.campaign(night.evaluation)) {
        await writeReportFiles({ ...deps, allowIncomplete }, night.evaluation);
      }
      const nights = await schedules.nights(ref.schedule, NIGHTS_SHOWN);
      const missed = await missedNights(Context.current().client, schedule, nights);
      const { reports, programVersion } = deps;
      return writeScheduleReport({ schedule, nights, missed }, { reports, programVersion });
    },
  });
}

/** A year of nights. */
export const NIGHTS_SHOWN = 366;
