/** What the report of a schedule shows: its nights and the times at which none ran, in the order of time. */
import type { NightRow, ScheduleRow } from '../../../core/nightly/schedule.js';

export interface ScheduleData {
  readonly schedule: ScheduleRow;
  /** Newest first. */
  readonly nights: readonly NightRow[];
  /** Times at which it was due and no night ran. */
  readonly missed: readonly string[];
}

/** One place on the time axis; `night` is null where none ran. */
export interface Entry {
  readonly at: string;
  readonly night: NightRow | null;
}

/** Oldest first. */
export function entriesOf({ nights, missed }: Pick<ScheduleData, 'nights' | 'missed'>): readonly Entry[] {
  return [
    ...nights.map((night) => ({ at: night.at, night })),
    ...missed.map((at) => ({ at, night: null })),
  ].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** Where a night stands, in a word; the regression wins over `done`. */
export function nightWord({ night }: Entry): string {
  if (night === null) return 'not run';
  if (night.state === 'done') return night.record.regression ? 'regression' : 'done';
  return night.state;
}
