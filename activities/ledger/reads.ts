/** Reads of attempts and tries for the command line and reports. A pipeline stands for all campaigns that it started. */

import type { FaultKind } from '../../core/faults.js';
import type { AttemptDetail, FoundAttempt, LedgerReads, TryRow, TryState } from '../../core/ledger-reads.js';
import type { Termination, Verdict } from '../../core/outcome.js';
import { attemptOf, CLEAN_COLUMNS, type CleanColumns } from './attempt-row.js';
import type { Database } from './database.js';
import { type GroupColumns, groupOf, READ_GROUPS } from './steps.js';
import { CLEAN_SUMMARY, type SummaryColumns, summaryOf } from './tries.js';
import { iso, type UsageColumns, usageColumns, usageOf } from './values.js';

export const DEFAULT_LIMIT = 100;

const FIND = {
  name: 'find attempts',
  text: `SELECT ${CLEAN_COLUMNS}, a.ended_at, e.fault_kind, e.fault_code,
      EXISTS (SELECT FROM tries r WHERE r.attempt_id = a.id AND r.state = 'running') AS running
    FROM attempts a
    LEFT JOIN tries t ON t.id = a.clean_try
    LEFT JOIN LATERAL (SELECT f.fault_kind, f.fault_code FROM tries f
      WHERE f.attempt_id = a.id AND f.state = 'system_error'
        AND (f.fault_kind <> 'cancelled' OR $6 = 'cancelled') ORDER BY f.id DESC LIMIT 1) e ON true
    WHERE ($1::text IS NULL OR a.campaign = $1 OR a.campaign IN (SELECT id FROM campaigns WHERE parent = $1))
      AND ($2::text IS NULL OR a.task_id = $2)
      AND ($3::int IS NULL OR a.step = $3)
      AND ($4::text IS NULL OR CASE $4
        WHEN 'passed' THEN a.passed WHEN 'failed' THEN NOT a.passed
        WHEN 'system_error' THEN e.fault_kind IS NOT NULL
        WHEN 'running' THEN EXISTS (SELECT FROM tries r WHERE r.attempt_id = a.id AND r.state = 'running')
        ELSE a.state = $4 END)
      AND ($5::text IS NULL OR t.termination = $5)
      AND ($6::text IS NULL OR EXISTS (SELECT FROM tries k
        WHERE k.attempt_id = a.id AND k.state = 'system_error' AND k.fault_kind = $6))
    ORDER BY a.id LIMIT $7 OFFSET $8`,
};
const ATTEMPT = {
  name: 'read attempt',
  text: `SELECT ${CLEAN_COLUMNS}, a.ended_at, a.seed, t.verdict, t.effects_digest, t.turns, t.tool_calls, t.tool_errors
    FROM attempts a LEFT JOIN tries t ON t.id = a.clean_try WHERE a.key = $1`,
};
const TRIES = {
  name: 'read tries',
  text: `SELECT a.key, t.try_number, t.activity_attempt, t.execution, t.state, t.worker, t.started_at, t.ended_at,
      t.wall_ms, ${usageColumns('t')}, t.trajectory, t.passed, t.reward, t.termination,
      t.fault_kind, t.fault_code, t.fault_message, t.fault_stack, t.during_tool_call,
      (SELECT b.key FROM tries s JOIN attempts b ON b.id = s.attempt_id WHERE s.id = t.reused_from) AS reused_from
    FROM tries t JOIN attempts a ON a.id = t.attempt_id WHERE a.key = $1 ORDER BY t.id`,
};

interface FoundColumns extends CleanColumns {
  readonly ended_at: Date | null;
  readonly fault_kind: FaultKind | null;
  readonly fault_code: string | null;
  readonly running: boolean;
}

interface DetailColumns extends CleanColumns {
  readonly ended_at: Date | null;
  readonly seed: string;
  readonly verdict: Pick<Verdict, 'reasons' | 'judged'> | null;
  readonly effects_digest: string | null;
  readonly turns: number | null;
  readonly tool_calls: number | null;
  readonly tool_errors: number | null;
}

interface TryColumns extends UsageColumns {
  readonly key: string;
  readonly try_number: number;
  readonly activity_attempt: number;
  readonly execution: number;
  readonly state: TryState;
  readonly worker: string;
  readonly started_at: Date;
  readonly ended_at: Date | null;
  readonly wall_ms: number | null;
  readonly trajectory: string | null;
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly termination: Termination | null;
  readonly fault_kind: FaultKind | null;
  readonly fault_code: string | null;
  readonly fault_message: string | null;
  readonly fault_stack: string | null;
  readonly during_tool_call: boolean | null;
  readonly reused_from: string | null;
}

export function attemptReads(
  database: Database,
): Pick<LedgerReads, 'findAttempts' | 'attempt' | 'tries' | 'cleanSummary' | 'allGroups'> {
  async function tries(key: string): Promise<readonly TryRow[]> {
    return (await database.run<TryColumns & Record<string, unknown>>(TRIES, [key])).map(tryOf);
  }

  return {
    tries,

    async findAttempts(filter): Promise<readonly FoundAttempt[]> {
      const rows = await database.run<FoundColumns & Record<string, unknown>>(FIND, [
        ...[filter.campaign ?? null, filter.taskId ?? null, filter.step ?? null, filter.outcome ?? null],
        ...[filter.termination ?? null, filter.fault ?? null],
        ...[filter.limit ?? DEFAULT_LIMIT, filter.offset ?? 0],
      ]);
      return rows.map((row) => ({
        ...attemptOf(row),
        fault: row.fault_kind,
        faultCode: row.fault_code,
        running: row.running,
        endedAt: iso(row.ended_at),
      }));
    },

    async attempt(key): Promise<AttemptDetail | undefined> {
      const [row] = await database.run<DetailColumns & Record<string, unknown>>(ATTEMPT, [key]);
      if (!row) return undefined;
      return {
        ...attemptOf(row),
        seed: row.seed,
        verdict: verdictOf(row),
        effectsDigest: row.effects_digest,
        turns: row.turns,
        toolCalls: row.tool_calls,
        toolErrors: row.tool_errors,
        endedAt: iso(row.ended_at),
        history: await tries(key),
      };
    },

    async cleanSummary(key) {
      const [row] = await database.run<SummaryColumns & Record<string, unknown>>(CLEAN_SUMMARY, [key]);
      return row && summaryOf(key, row);
    },

    async allGroups(run) {
      const rows = await database.run<GroupColumns & Record<string, unknown>>(READ_GROUPS, [run, null]);
      return rows.map((row) => ({ step: row.step, ...groupOf(row) }));
    },
  };
}

function verdictOf(row: DetailColumns): Verdict | null {
  if (row.passed === null || row.reward === null) return null;
  const { reasons = [], judged = [] } = row.verdict ?? {};
  return { passed: row.passed, reward: row.reward, reasons, judged };
}

function tryOf(row: TryColumns): TryRow {
  return {
    key: row.key,
    tryNumber: row.try_number,
    activityAttempt: row.activity_attempt,
    execution: row.execution,
    state: row.state,
    worker: row.worker,
    reusedFrom: row.reused_from,
    startedAt: iso(row.started_at),
    endedAt: iso(row.ended_at),
    wallMs: row.wall_ms,
    usage: usageOf(row),
    trajectory: row.trajectory,
    passed: row.passed,
    reward: row.reward,
    termination: row.termination,
    fault:
      row.fault_kind === null
        ? null
        : {
            kind: row.fault_kind,
            code: row.fault_code,
            message: row.fault_message ?? '',
            stack: row.fault_stack,
            duringToolCall: row.during_tool_call ?? false,
          },
  };
}
