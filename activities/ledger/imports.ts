/**
 * Results of an evaluation that ran elsewhere, written into planned attempts: one try each, no sandbox. A result that is
 * there already stays as it is, so writing a batch again adds nothing.
 */
import type pg from 'pg';
import type { Digest } from '../../core/artifacts.js';
import type { FaultKind } from '../../core/faults.js';
import type { Termination, Usage, Verdict } from '../../core/outcome.js';
import { createDatabase } from './database.js';
import { storableJson, storableUpTo } from './values.js';

export interface ImportedAttempt {
  readonly key: string;
  /** Where it was read: stands where a worker's name would. */
  readonly source: string;
  readonly wallMs: number | null;
  /** Null where the row does not say what was used: nothing is counted then, not zero. */
  readonly usage: Usage | null;
  readonly trajectory: Digest;
  readonly clean?: {
    readonly verdict: Verdict;
    readonly termination: Termination;
    readonly effectsDigest: Digest;
    readonly turns: number | null;
    readonly toolCalls: number | null;
    readonly toolErrors: number | null;
  };
  /** The attempt becomes exhausted: nobody will try it again here. */
  readonly fault?: {
    readonly kind: FaultKind;
    readonly code: string | null;
    readonly message: string;
    readonly stack: string | null;
  };
}

const MESSAGE_LIMIT = 4_000;
const STACK_LIMIT = 16_000;

/** Attempts that are pending only; one statement, so a batch is written whole or not at all. */
const IMPORT = {
  name: 'import attempts',
  text: `WITH rows AS (
      SELECT * FROM jsonb_to_recordset($2::jsonb) AS r (key text, source text, wall_ms float8, trajectory text,
        policy_prompt bigint, policy_sampled bigint, policy_calls int, other_prompt bigint, other_sampled bigint,
        other_calls int, passed boolean, reward float8, verdict jsonb, termination text, effects text,
        turns int, tool_calls int, tool_errors int, fault_kind text, fault_code text, fault_message text, fault_stack text)
    ), added AS (
      INSERT INTO tries (attempt_id, try_number, activity_attempt, state, worker, ended_at, wall_ms,
        policy_prompt_tokens, policy_sampled_tokens, policy_calls, other_prompt_tokens, other_sampled_tokens, other_calls,
        trajectory, passed, reward, verdict, termination, effects_digest, turns, tool_calls, tool_errors,
        fault_kind, fault_code, fault_message, fault_stack, during_tool_call)
      SELECT a.id, 1, 1, CASE WHEN r.fault_kind IS NULL THEN 'clean' ELSE 'system_error' END, r.source, now(), r.wall_ms,
        r.policy_prompt, r.policy_sampled, r.policy_calls, r.other_prompt, r.other_sampled, r.other_calls,
        r.trajectory, r.passed, r.reward, r.verdict, r.termination, r.effects, r.turns, r.tool_calls, r.tool_errors,
        r.fault_kind, r.fault_code, r.fault_message, r.fault_stack, CASE WHEN r.fault_kind IS NOT NULL THEN false END
      FROM rows r JOIN attempts a ON a.key = r.key
      WHERE a.campaign = $1 AND a.state = 'pending'
      ON CONFLICT (attempt_id, try_number, activity_attempt, execution) DO NOTHING
      RETURNING id, attempt_id, state, passed, reward, ended_at
    ), ended AS (
      UPDATE attempts a SET state = CASE WHEN t.state = 'clean' THEN 'clean' ELSE 'exhausted' END,
        clean_try = CASE WHEN t.state = 'clean' THEN t.id END, passed = t.passed, reward = t.reward, ended_at = t.ended_at
      FROM added t WHERE a.id = t.attempt_id RETURNING a.id
    )
    SELECT count(*)::int AS added FROM ended`,
};

/** Returns how many were new. Throws `Fault('ledger')`. */
export async function importAttempts(
  pool: pg.Pool,
  campaign: string,
  attempts: readonly ImportedAttempt[],
): Promise<number> {
  const rows = `[${attempts.map((attempt) => storableJson(columnsOf(attempt))).join(',')}]`;
  const database = createDatabase(pool, WAIT_MS);
  const [row] = await database.run<{ added: number }>(IMPORT, [campaign, rows]);
  return row?.added ?? 0;
}

/** A person waits at the terminal: a database that restarts may take so long. */
const WAIT_MS = 10_000;

function columnsOf({ key, source, wallMs, usage, trajectory, clean, fault }: ImportedAttempt): object {
  const { reasons = [], judged = [] } = clean?.verdict ?? {};
  return {
    key,
    source,
    wall_ms: wallMs,
    trajectory,
    ...(usage && {
      policy_prompt: usage.policyPromptTokens,
      policy_sampled: usage.policySampledTokens,
      policy_calls: usage.policyCalls,
      other_prompt: usage.otherPromptTokens,
      other_sampled: usage.otherSampledTokens,
      other_calls: usage.otherCalls,
    }),
    ...(clean && {
      passed: clean.verdict.passed,
      reward: clean.verdict.reward,
      verdict: reasons.length + judged.length > 0 ? { reasons, judged } : null,
      termination: clean.termination,
      effects: clean.effectsDigest,
      turns: clean.turns,
      tool_calls: clean.toolCalls,
      tool_errors: clean.toolErrors,
    }),
    ...(fault && {
      fault_kind: fault.kind,
      fault_code: fault.code,
      fault_message: storableUpTo(fault.message, MESSAGE_LIMIT),
      fault_stack: fault.stack === null ? null : storableUpTo(fault.stack, STACK_LIMIT),
    }),
  };
}
