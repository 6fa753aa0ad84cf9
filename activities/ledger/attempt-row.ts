/** How an attempt with its clean try is selected, and read into an `AttemptRow`. */
import type { AttemptRow } from '../../core/ledger.js';
import type { Termination } from '../../core/outcome.js';
import { type UsageColumns, usageColumns, usageOf } from './values.js';

/** For `attempts a LEFT JOIN tries t ON t.id = a.clean_try`. */
export const CLEAN_COLUMNS = `a.key, a.campaign, a.task_id, a.slot, a.domain, a.template, a.state, a.passed, a.reward,
  a.step, a.round, a.group_index, a.member, t.termination, t.trajectory, t.weight_version, t.wall_ms,
  t.truncated_turns, ${usageColumns('t')},
  (SELECT count(*) FROM tries n WHERE n.attempt_id = a.id AND n.state <> 'superseded')::int AS tries,
  (SELECT count(*) FROM tries n WHERE n.attempt_id = a.id AND n.fault_kind = 'cancelled'
    AND n.state = 'system_error')::int AS stopped`;

export interface CleanColumns extends UsageColumns {
  readonly key: string;
  readonly campaign: string;
  readonly task_id: string;
  readonly slot: string;
  readonly domain: string;
  readonly template: string;
  readonly state: AttemptRow['state'];
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly step: number | null;
  readonly round: number | null;
  readonly group_index: number | null;
  readonly member: number | null;
  readonly termination: Termination | null;
  readonly trajectory: string | null;
  readonly weight_version: string | null;
  readonly wall_ms: number | null;
  readonly truncated_turns: number | null;
  readonly tries: number;
  readonly stopped: number;
}

export function attemptOf(row: CleanColumns): AttemptRow {
  return {
    key: row.key,
    campaign: row.campaign,
    taskId: row.task_id,
    slot: row.slot,
    domain: row.domain,
    template: row.template,
    state: row.state,
    passed: row.passed,
    reward: row.reward,
    termination: row.termination,
    trajectory: row.trajectory,
    weightVersion: row.weight_version,
    usage: usageOf(row),
    wallMs: row.wall_ms,
    tries: row.tries,
    ...(row.stopped > 0 ? { stopped: row.stopped } : {}),
    step: row.step,
    round: row.round,
    group: row.group_index,
    member: row.member,
    truncatedTurns: row.truncated_turns,
  };
}
