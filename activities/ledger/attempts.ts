/** Attempts: planned once, read many times. */
import { Fault } from '../../core/faults.js';
import type { AttemptRow, Counts, Ledger, PlannedAttempt } from '../../core/ledger.js';
import { attemptOf, CLEAN_COLUMNS, type CleanColumns } from './attempt-row.js';
import type { Database } from './database.js';

/** Rows a call of `planAttempts`: the interface's own bound. */
const MOST_PLANNED = 10_000;

/**
 * Inserts in the order given, since the identity is the plan order. A key that is there with another task, seed or
 * place would be a different attempt under the same name: counted, so that the caller can refuse it.
 */
const PLAN = {
  name: 'plan attempts',
  text: `WITH wanted AS (
      SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                           $8::int[], $9::int[], $10::int[], $11::int[])
        WITH ORDINALITY AS w (key, task_id, slot, domain, template, seed, step, round, group_index, member, position)
    ), added AS (
      INSERT INTO attempts (campaign, key, task_id, slot, domain, template, seed, step, round, group_index, member)
      SELECT $1, key, task_id, slot, domain, template, seed, step, round, group_index, member
      FROM wanted ORDER BY position
      ON CONFLICT (key) DO NOTHING RETURNING key
    )
    SELECT (SELECT count(*) FROM added)::int AS added,
      (SELECT min(w.key) FROM wanted w JOIN attempts a ON a.key = w.key
        WHERE (a.campaign, a.task_id, a.slot, a.seed) <> ($1, w.task_id, w.slot, w.seed)
          OR (a.step, a.round, a.group_index, a.member)
             IS DISTINCT FROM (w.step, w.round, w.group_index, w.member)) AS other`,
};
const REOPEN = {
  name: 'reopen exhausted',
  text: `UPDATE attempts SET state = 'pending', ended_at = NULL
    WHERE campaign = $1 AND ($2::int IS NULL OR step = $2) AND state = 'exhausted' RETURNING key, id`,
};
/** One transaction: the function is called once a row. */
const REUSE = {
  name: 'reuse attempts',
  text: `SELECT count(*) FILTER (WHERE reuse_attempt($1, w.key, w.task_id, w.slot, w.domain, w.template, w.seed,
        w.step, w.round, w.group_index, w.member, w.source))::int AS added
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                $8::int[], $9::int[], $10::int[], $11::int[], $12::text[])
      AS w (key, task_id, slot, domain, template, seed, step, round, group_index, member, source)`,
};
const READ = {
  name: 'read attempts',
  text: `SELECT ${CLEAN_COLUMNS} FROM attempts a LEFT JOIN tries t ON t.id = a.clean_try
    WHERE a.campaign = $1 AND ($2::int IS NULL OR a.step = $2) ORDER BY a.id`,
};
const MISSING = {
  name: 'missing keys',
  text: `SELECT key, task_id, slot, domain, template, seed, step, round, group_index, member
    FROM attempts WHERE campaign = $1 AND state <> 'clean' ORDER BY id`,
};
const COUNTS = {
  name: 'counts',
  text: `SELECT count(*)::int AS planned,
      count(*) FILTER (WHERE state = 'clean')::int AS clean,
      count(*) FILTER (WHERE passed)::int AS passed,
      count(*) FILTER (WHERE state = 'pending')::int AS pending,
      count(*) FILTER (WHERE state = 'exhausted')::int AS exhausted,
      (SELECT coalesce(json_object_agg(fault_kind, tries), '{}') FROM (
         SELECT t.fault_kind, count(*)::int AS tries FROM tries t JOIN attempts b ON b.id = t.attempt_id
         WHERE t.state = 'system_error' AND b.campaign = $1 GROUP BY t.fault_kind) f) AS faults
    FROM attempts WHERE campaign = $1`,
};

interface PlannedColumns {
  readonly key: string;
  readonly task_id: string;
  readonly slot: string;
  readonly domain: string;
  readonly template: string;
  readonly seed: string;
  readonly step: number | null;
  readonly round: number | null;
  readonly group_index: number | null;
  readonly member: number | null;
}

export function attemptWrites(
  database: Database,
): Pick<
  Ledger,
  'planAttempts' | 'reopenExhausted' | 'reuseAttempts' | 'attempts' | 'missingKeys' | 'counts'
> {
  return {
    async planAttempts(campaign, attempts) {
      if (attempts.length === 0) return 0;
      if (attempts.length > MOST_PLANNED) {
        throw new RangeError(
          `plan attempts: expected at most ${MOST_PLANNED} rows, found ${attempts.length}`,
        );
      }
      const [row] = await database.run<{ added: number; other: string | null }>(PLAN, [
        campaign,
        ...plannedColumns(attempts),
      ]);
      if (row?.other) {
        throw new Fault(
          'ledger',
          `plan attempts: "${row.other}" is planned already with another campaign, task, seed or place`,
          { code: 'conflict', retry: false },
        );
      }
      return row?.added ?? 0;
    },

    async reopenExhausted(campaign, step) {
      const rows = await database.run<{ key: string; id: string }>(REOPEN, [campaign, step ?? null]);
      return [...rows].sort((a, b) => Number(a.id) - Number(b.id)).map(({ key }) => key);
    },

    async reuseAttempts(campaign, attempts) {
      if (attempts.length === 0) return 0;
      const [row] = await database.run<{ added: number }>(REUSE, [
        campaign,
        ...plannedColumns(attempts),
        attempts.map(({ from }) => from),
      ]);
      return row?.added ?? 0;
    },

    async attempts(campaign, filter): Promise<readonly AttemptRow[]> {
      const rows = await database.run<CleanColumns>(READ, [campaign, filter?.step ?? null]);
      return rows.map(attemptOf);
    },

    async missingKeys(campaign) {
      return (await database.run<PlannedColumns>(MISSING, [campaign])).map(plannedOf);
    },

    async counts(campaign) {
      const [row] = await database.run<Counts & Record<string, unknown>>(COUNTS, [campaign]);
      if (!row) throw new Fault('ledger', `counts: no answer for ${campaign}`);
      // A try that a person stopped is recorded like a fault, and is none.
      const { cancelled: stopped, ...faults } = row.faults;
      return { ...row, faults, ...(stopped === undefined ? {} : { stopped }) };
    },
  };
}

function plannedOf(row: PlannedColumns): PlannedAttempt {
  const { step, round, group_index: group, member } = row;
  return {
    key: row.key,
    taskId: row.task_id,
    slot: row.slot,
    domain: row.domain,
    template: row.template,
    seed: row.seed,
    ...(step === null ? {} : { step }),
    ...(round === null ? {} : { round }),
    ...(group === null ? {} : { group }),
    ...(member === null ? {} : { member }),
  };
}

/** The rows by column, as `unnest` takes them: key, task, slot, domain, template, seed, step, round, group, member. */
function plannedColumns(attempts: readonly PlannedAttempt[]): (string | number | null)[][] {
  const column = <T>(of: (attempt: PlannedAttempt) => T): T[] => attempts.map(of);
  return [
    column(({ key }) => key),
    column(({ taskId }) => taskId),
    column(({ slot }) => slot),
    column(({ domain }) => domain),
    column(({ template }) => template),
    column(({ seed }) => seed),
    column(({ step }) => step ?? null),
    column(({ round }) => round ?? null),
    column(({ group }) => group ?? null),
    column(({ member }) => member ?? null),
  ];
}
