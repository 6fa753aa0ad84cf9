/**
 * Evaluations by schedule: what one is asked to do, what a night of it gave, and where both are kept.
 *
 * A night is identified by its schedule and the time for which it was due, so that running it again finds what is
 * there. The suite's digest, the prompts' digest and the program's version of a schedule are pins: nights run with
 * what is there today, and say where that is not what was pinned.
 */
import type { AttemptsConfig } from '../campaign.js';
import { UsageError } from '../faults.js';
import { campaignId, LONGEST_NAME } from '../keys.js';
import type { Estimate } from '../report-data.js';
import type { Place } from '../sharing.js';

export interface ScheduleTiming {
  /** Five fields, or `@daily` and its like (core/nightly/cron.ts). */
  readonly cron: string;
  /** IANA name. */
  readonly timezone: string;
  /** Each night starts up to so many ms late, the same every time it is computed. */
  readonly jitterMs: number;
  /** A night that could not start because Temporal was down is made up for when it is at most so late, ms. */
  readonly catchUpMs: number;
}

/** Priority and pool of its nights: absent where they have an evaluation's usual. */
export interface ScheduleConfig extends Place {
  readonly timing: ScheduleTiming;
  /** What every night runs; `latest` of a run is the newest checkpoint that verifies when the night begins. */
  readonly evaluation: AttemptsConfig;
  /** Episodes in flight. */
  readonly lanes: number;
  /** Evaluation that every night is compared with, beside the night before; null: none. */
  readonly baseline: string | null;
  /** A night of incomplete coverage shows a score too, which says so; absent: none. Nothing is compared with it. */
  readonly allowIncomplete?: true;
  /** Environment variable with the address that is told of a regression; null: nobody is. */
  readonly webhookEnv: string | null;
}

export interface ScheduleRow {
  readonly name: string;
  readonly config: ScheduleConfig;
  readonly programVersion: string;
  readonly createdAt: string;
  readonly deletedAt: string | null;
}

/** `incomplete`: attempts are missing or exhausted, so it has no score. `stopped`: a person stopped it. */
export type NightState = 'running' | 'done' | 'incomplete' | 'failed' | 'stopped';

export interface NightRow {
  readonly schedule: string;
  /** The time for which it was due, ISO 8601 in UTC. */
  readonly at: string;
  /** Id of its campaign. */
  readonly evaluation: string;
  readonly state: NightState;
  readonly record: NightRecord;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

/** Filled as the night goes on; what is absent is not known (yet). */
export interface NightRecord {
  readonly programVersion?: string;
  readonly suiteDigest?: string;
  /** Why its result is not comparable with published ones. */
  readonly notComparable?: readonly string[];
  /** Which model was asked: `train/run-1@25`, `base`, or an endpoint's own name. */
  readonly model?: string;
  readonly checkpoint?: NightCheckpoint;
  readonly score?: NightScore;
  readonly previous?: NightComparison | null;
  readonly baseline?: NightComparison | null;
  /** What is not what was pinned, or not what it was the night before. */
  readonly changes?: readonly string[];
  readonly regression?: boolean;
  readonly webhook?: WebhookRecord;
  /** Why it has no score. */
  readonly cause?: string | null;
}

/** A checkpoint of a run that was verified, byte for byte, when the night began. */
export interface NightCheckpoint {
  readonly run: string;
  readonly step: number;
  readonly weightDigest: string;
  /** Newer ones that did not verify. */
  readonly passedOver: readonly number[];
}

export interface NightScore {
  /** `955 of 960 attempts` when it leaves the others out; absent: it is of all of them. Said wherever the score is. */
  readonly incomplete?: string;
  readonly tasks: number;
  /** Attempts a task. */
  readonly k: number;
  readonly passAt1: Estimate;
  readonly observedK: Estimate;
  readonly dependable: number;
}

export const MEASURES = ['pass@1', 'k/k'] as const;
export type Measure = (typeof MEASURES)[number];

/** Paired by task; differences are tonight minus the other. */
export interface NightComparison {
  readonly evaluation: string;
  /** The night that it was; null for a baseline. */
  readonly at: string | null;
  /** Tasks that both have. */
  readonly tasks: number;
  /** Tasks that only one of them has. */
  readonly unpaired: number;
  readonly sameSuite: boolean;
  readonly passAt1: Estimate;
  /** Null where the two have different attempts a task. */
  readonly observedK: Estimate | null;
  readonly gained: number;
  readonly lost: number;
  /** The first of the tasks that were dependable and are it no more. */
  readonly lostTasks: readonly string[];
  /** Measures whose whole interval lies below zero. */
  readonly regressed: readonly Measure[];
}

export interface WebhookRecord {
  readonly state: 'sent' | 'failed';
  /** HTTP status, or null where no answer came. */
  readonly status: number | null;
  /** Never holds the address. */
  readonly error: string | null;
  readonly at: string;
}

/** Where schedules and their nights are kept. Every call throws `Fault('ledger')` when the database does not answer. */
export interface Schedules {
  schedule(name: string): Promise<ScheduleRow | undefined>;
  /** By name, deleted ones left out. */
  schedules(): Promise<readonly ScheduleRow[]>;
  /** Inserts or replaces; a deleted one is there again. */
  putSchedule(name: string, config: ScheduleConfig, programVersion: string): Promise<void>;
  deleteSchedule(name: string): Promise<void>;
  /** The night, begun now or before. One that failed, stopped or is incomplete runs again. */
  openNight(night: NightRef, evaluation: string): Promise<NightRow>;
  /** Adds to the night's record; the state stays unless it is given. */
  noteNight(night: NightRef, note: NightRecord, state?: NightState): Promise<void>;
  night(night: NightRef): Promise<NightRow | undefined>;
  /** Newest first. */
  nights(schedule: string, limit: number): Promise<readonly NightRow[]>;
  /** The newest before this time that has a score. */
  nightBefore(night: NightRef): Promise<NightRow | undefined>;
}

export interface NightRef {
  readonly schedule: string;
  readonly at: string;
}

/** `-2026-11-30-020000` */
const STAMP_LENGTH = 18;

/** Throws `UsageError` for a name that is none, or that leaves no room for the time in the names of its evaluations. */
export function requireScheduleName(name: string): void {
  campaignId('eval', name);
  const most = LONGEST_NAME - STAMP_LENGTH;
  if (name.length <= most) return;
  const expected = `at most ${most} characters, since evaluations are named after it and the time`;
  throw new UsageError('schedule name', expected, `${name.length}: "${name}"`);
}

/** `eval/nightly-2026-11-30-020000`, in UTC. */
export function nightEvaluation({ schedule, at }: NightRef): string {
  const time = new Date(at).toISOString();
  return campaignId('eval', `${schedule}-${time.slice(0, 10)}-${time.slice(11, 19).replaceAll(':', '')}`);
}

/** Workflow of a night: Temporal appends the time to the id that a schedule gives. */
export function nightWorkflowPrefix(schedule: string): string {
  return `nightly/${schedule}`;
}

export function nightWorkflowId({ schedule, at }: NightRef): string {
  return `${nightWorkflowPrefix(schedule)}-${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** The run whose newest checkpoint every night evaluates; null where the model is something else. */
export function followedRun({ model }: AttemptsConfig): string | null {
  if ((model.kind !== 'trainer' && model.kind !== 'served') || model.checkpoint === 'base') return null;
  return model.checkpoint.step === 'latest' ? model.checkpoint.run : null;
}

/** The configuration without what is only pinned: equal exactly when two schedules ask for the same. */
export function withoutPins(config: ScheduleConfig): unknown {
  const { suiteDigest: _suite, notComparable: _why, people, ...evaluation } = config.evaluation;
  const { prompts: _prompts, ...asked } = people ?? {};
  return { ...config, evaluation: { ...evaluation, ...(people ? { people: asked } : {}) } };
}

/** The model of a night in a few words. */
export function modelWords({ model }: Pick<AttemptsConfig, 'model'>, checkpoint?: NightCheckpoint): string {
  if (checkpoint) return `${checkpoint.run}@${checkpoint.step}`;
  if (model.kind === 'scripted') return 'scripted';
  if (model.kind === 'chat' || model.kind === 'token') return model.model;
  if (model.checkpoint === 'base') return 'base';
  const { run, step } = model.checkpoint;
  return step === 'latest' ? `latest:${run}` : `${run}@${step}`;
}

/** What a night's evaluation is claimed with. */
export function nightConfig(
  { evaluation }: ScheduleConfig,
  checkpoint: Pick<NightCheckpoint, 'run' | 'step'> | null,
): AttemptsConfig {
  if (checkpoint === null) return evaluation;
  const { model } = evaluation;
  const { run, step } = checkpoint;
  const served = model.kind === 'served' ? model : ({ kind: 'trainer' } as const);
  return { ...evaluation, model: { ...served, checkpoint: { run, step } } };
}
