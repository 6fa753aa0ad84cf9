/** Schedules and their nights in PostgreSQL. */
import type pg from 'pg';
import { Fault } from '../../core/faults.js';
import type {
  NightRecord,
  NightRef,
  NightRow,
  NightState,
  ScheduleConfig,
  ScheduleRow,
  Schedules,
} from '../../core/nightly/schedule.js';
import { createDatabase } from './database.js';
import { iso, storableJson } from './values.js';

const WAIT_MS = 30_000;

const READ = { name: 'read schedule', text: 'SELECT * FROM schedules WHERE name = $1' };
const LIST = {
  name: 'list schedules',
  text: 'SELECT * FROM schedules WHERE deleted_at IS NULL ORDER BY name',
};
const PUT = {
  name: 'put schedule',
  text: `INSERT INTO schedules (name, config, program_version) VALUES ($1, $2::jsonb, $3)
    ON CONFLICT (name) DO UPDATE SET config = excluded.config, program_version = excluded.program_version,
      created_at = now(), deleted_at = NULL`,
};
const DELETE = {
  name: 'delete schedule',
  text: 'UPDATE schedules SET deleted_at = coalesce(deleted_at, now()) WHERE name = $1',
};
/** A night with a score keeps it: whoever runs it again finds it done. */
const OPEN = {
  name: 'open night',
  text: `INSERT INTO nights (schedule, at, evaluation) VALUES ($1, $2, $3)
    ON CONFLICT (schedule, at) DO UPDATE SET
      state = CASE WHEN nights.state = 'done' THEN 'done' ELSE 'running' END,
      ended_at = CASE WHEN nights.state = 'done' THEN nights.ended_at END
    RETURNING *`,
};
const NOTE = {
  name: 'note night',
  text: `UPDATE nights SET record = record || $3::jsonb, state = coalesce($4, state),
      ended_at = CASE WHEN coalesce($4, state) <> 'running' THEN coalesce(ended_at, now()) END
    WHERE schedule = $1 AND at = $2 RETURNING at`,
};
const NIGHT = { name: 'read night', text: 'SELECT * FROM nights WHERE schedule = $1 AND at = $2' };
const NIGHTS = {
  name: 'read nights',
  text: 'SELECT * FROM nights WHERE schedule = $1 ORDER BY at DESC LIMIT $2',
};
const BEFORE = {
  name: 'night before',
  text: `SELECT * FROM nights WHERE schedule = $1 AND at < $2 AND state = 'done' ORDER BY at DESC LIMIT 1`,
};

interface ScheduleColumns {
  readonly name: string;
  readonly config: ScheduleConfig;
  readonly program_version: string;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
}

interface NightColumns {
  readonly schedule: string;
  readonly at: Date;
  readonly evaluation: string;
  readonly state: NightState;
  readonly record: NightRecord;
  readonly started_at: Date;
  readonly ended_at: Date | null;
}

/** Uses the pool and does not end it. */
export function createPgSchedules(pool: pg.Pool): Schedules {
  const database = createDatabase(pool, WAIT_MS);
  const nightsBy = async (statement: { name: string; text: string }, values: readonly unknown[]) =>
    (await database.run<NightColumns & Record<string, unknown>>(statement, values)).map(nightOf);
  const schedulesBy = async (statement: { name: string; text: string }, values: readonly unknown[]) =>
    (await database.run<ScheduleColumns & Record<string, unknown>>(statement, values)).map(scheduleOf);

  return {
    schedule: async (name) => (await schedulesBy(READ, [name]))[0],
    schedules: () => schedulesBy(LIST, []),
    async putSchedule(name, config, programVersion) {
      await database.run(PUT, [name, storableJson(config), programVersion]);
    },
    async deleteSchedule(name) {
      await database.run(DELETE, [name]);
    },
    async openNight({ schedule, at }, evaluation) {
      return (await nightsBy(OPEN, [schedule, at, evaluation]))[0]!;
    },
    async noteNight(night, note, state) {
      const values = [night.schedule, night.at, storableJson(note), state ?? null];
      if ((await database.run(NOTE, values)).length === 0) throw unknownNight(night);
    },
    night: async ({ schedule, at }) => (await nightsBy(NIGHT, [schedule, at]))[0],
    nights: (schedule, limit) => nightsBy(NIGHTS, [schedule, limit]),
    nightBefore: async ({ schedule, at }) => (await nightsBy(BEFORE, [schedule, at]))[0],
  };
}

function unknownNight({ schedule, at }: NightRef): Fault {
  return new Fault('ledger', `night ${at} of schedule ${schedule} is not in the ledger`, {
    code: 'not_found',
    retry: false,
  });
}

function scheduleOf(row: ScheduleColumns): ScheduleRow {
  return {
    name: row.name,
    config: row.config,
    programVersion: row.program_version,
    createdAt: iso(row.created_at),
    deletedAt: iso(row.deleted_at),
  };
}

function nightOf(row: NightColumns): NightRow {
  return {
    schedule: row.schedule,
    at: iso(row.at),
    evaluation: row.evaluation,
    state: row.state,
    record: row.record,
    startedAt: iso(row.started_at),
    endedAt: iso(row.ended_at),
  };
}
