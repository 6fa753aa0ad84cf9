/** What the activities of a night are made from. */
import type { ArtifactStore } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { NightRef, NightRow, ScheduleRow, Schedules } from '../../core/nightly/schedule.js';
import type { Suite } from '../../core/suite.js';

export interface NightlyDeps {
  readonly ledger: Ledger & LedgerReads;
  readonly artifacts: ArtifactStore;
  readonly schedules: Schedules;
  /** Opens a suite by name; one object per process. */
  readonly suite: (name: string) => Promise<Suite>;
  /** Folder for reports. */
  readonly reports: string;
  readonly programVersion: string;
  /** Where the variables that schedules name are looked up. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Throws `Fault('ledger', code: 'not_found')`, which no retry can help. */
export async function scheduleOf(schedules: Schedules, name: string): Promise<ScheduleRow> {
  const row = await schedules.schedule(name);
  if (row) return row;
  throw new Fault('ledger', `schedule ${name} is not in the ledger`, { code: 'not_found', retry: false });
}

/** Throws as `scheduleOf` does. */
export async function nightOf(schedules: Schedules, night: NightRef): Promise<NightRow> {
  const row = await schedules.night(night);
  if (row) return row;
  const words = `night ${night.at} of schedule ${night.schedule} is not in the ledger`;
  throw new Fault('ledger', words, { code: 'not_found', retry: false });
}
