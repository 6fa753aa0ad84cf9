/** Steps and groups of a training run. */
import type { GroupRow, GroupState, Ledger, StepRow, StepState } from '../../core/ledger.js';
import type { Database } from './database.js';
import { storable, storableJson } from './values.js';

/** Where a step is on its way; `failed` is off it, and may be left again. */
const RANK = `CASE %s.state WHEN 'sampling' THEN 0 WHEN 'sampled' THEN 1 WHEN 'updated' THEN 2
  WHEN 'done' THEN 3 WHEN 'skipped' THEN 3 END`;
const rank = (table: string): string => RANK.replace('%s', table);

const PUT_STEP = {
  name: 'put step',
  text: `INSERT INTO steps (run, step, state, cursor_at, started, base_digest, weight_digest, batch_digest, op, metrics, cause)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11)
    ON CONFLICT (run, step) DO UPDATE SET
      state = excluded.state, cursor_at = excluded.cursor_at, started = excluded.started,
      base_digest = coalesce(excluded.base_digest, steps.base_digest),
      weight_digest = coalesce(excluded.weight_digest, steps.weight_digest),
      batch_digest = coalesce(excluded.batch_digest, steps.batch_digest),
      op = coalesce(excluded.op, steps.op),
      metrics = excluded.metrics, cause = excluded.cause, updated_at = now()
    WHERE CASE
      WHEN steps.state = 'failed' THEN true
      WHEN excluded.state = 'failed' THEN ${rank('steps')} < 3
      ELSE ${rank('excluded')} >= ${rank('steps')} END`,
};
const READ_STEPS = { name: 'read steps', text: 'SELECT * FROM steps WHERE run = $1 ORDER BY step' };
const PUT_GROUP = {
  name: 'put group',
  text: `INSERT INTO groups (run, step, round, group_index, task_id, state, rewards)
    VALUES ($1, $2, $3, $4, $5, $6, $7::float8[])
    ON CONFLICT (run, step, round, group_index)
    DO UPDATE SET task_id = excluded.task_id, state = excluded.state, rewards = excluded.rewards`,
};
export const READ_GROUPS = {
  name: 'read groups',
  text: `SELECT * FROM groups WHERE run = $1 AND ($2::int IS NULL OR step = $2) ORDER BY step, round, group_index`,
};

interface StepColumns {
  readonly run: string;
  readonly step: number;
  readonly state: StepState;
  readonly cursor_at: number;
  readonly started: number;
  readonly base_digest: string | null;
  readonly weight_digest: string | null;
  readonly batch_digest: string | null;
  readonly op: string | null;
  readonly metrics: StepRow['metrics'];
  readonly cause: string | null;
}

export interface GroupColumns {
  readonly step: number;
  readonly round: number;
  readonly group_index: number;
  readonly task_id: string;
  readonly state: GroupState;
  readonly rewards: readonly (number | null)[];
}

export function stepWrites(database: Database): Pick<Ledger, 'putStep' | 'steps' | 'putGroup' | 'groups'> {
  return {
    async putStep(step) {
      await database.run(PUT_STEP, [
        ...[step.run, step.step, step.state, step.cursor, step.started],
        ...[step.baseDigest, step.weightDigest, step.batchDigest, step.op],
        ...[storableJson(step.metrics), step.cause === null ? null : storable(step.cause)],
      ]);
    },
    async steps(run) {
      return (await database.run<StepColumns & Record<string, unknown>>(READ_STEPS, [run])).map(stepOf);
    },
    async putGroup(run, step, group) {
      const { round, group: index, taskId, state, rewards } = group;
      await database.run(PUT_GROUP, [run, step, round, index, taskId, state, [...rewards]]);
    },
    async groups(run, step) {
      return (await database.run<GroupColumns & Record<string, unknown>>(READ_GROUPS, [run, step])).map(
        groupOf,
      );
    },
  };
}

function stepOf(row: StepColumns): StepRow {
  return {
    run: row.run,
    step: row.step,
    state: row.state,
    cursor: row.cursor_at,
    started: row.started,
    baseDigest: row.base_digest,
    weightDigest: row.weight_digest,
    batchDigest: row.batch_digest,
    op: row.op,
    metrics: row.metrics,
    cause: row.cause,
  };
}

export function groupOf(row: GroupColumns): GroupRow {
  return {
    round: row.round,
    group: row.group_index,
    taskId: row.task_id,
    state: row.state,
    rewards: row.rewards,
  };
}
