/** Tries: begun and ended by one function call each, in the database (infra/migrations). */
import { Fault } from '../../core/faults.js';
import type { FinishTry, Ledger } from '../../core/ledger.js';
import type { EpisodeSummary, Termination } from '../../core/outcome.js';
import type { Database } from './database.js';
import { storableJson, storableUpTo, usageValues } from './values.js';

/** Characters; longer messages and traces are cut. The whole is in the worker's log. */
const MESSAGE_LIMIT = 4_000;
const STACK_LIMIT = 16_000;

const parameters = (count: number): string =>
  Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ');

const BEGIN = {
  name: 'begin try',
  text: `SELECT passed, reward, termination, sampled_tokens::float8, wall_ms FROM begin_try(${parameters(8)})`,
};
const FINISH_CLEAN = { name: 'finish try', text: `SELECT finish_clean(${parameters(21)}) AS outcome` };
const FINISH_FAULT = {
  name: 'finish faulted try',
  text: `SELECT finish_fault(${parameters(17)}) AS outcome`,
};
export const CLEAN_SUMMARY = {
  name: 'clean summary',
  text: `SELECT t.passed, t.reward, t.termination, t.policy_sampled_tokens::float8 AS sampled_tokens, t.wall_ms
    FROM attempts a JOIN tries t ON t.id = a.clean_try WHERE a.key = $1`,
};

export interface SummaryColumns {
  readonly passed: boolean;
  readonly reward: number;
  readonly termination: Termination;
  readonly sampled_tokens: number;
  readonly wall_ms: number;
}

export function summaryOf(key: string, row: SummaryColumns): EpisodeSummary {
  return {
    key,
    outcome: row.passed ? 'passed' : 'failed',
    reward: row.reward,
    termination: row.termination,
    reused: true,
    sampledTokens: row.sampled_tokens,
    wallMs: row.wall_ms,
  };
}

export function tryWrites(database: Database): Pick<Ledger, 'beginTry' | 'finishTry'> {
  return {
    async beginTry({ key, tryNumber, activityAttempt, worker, sandbox }) {
      const { name, isolation, host, expiresAt } = sandbox;
      const values = [key, tryNumber, activityAttempt, worker, name, isolation, host, expiresAt];
      const [row] = await database.run<SummaryColumns & Record<string, unknown>>(BEGIN, values);
      return row ? { clean: summaryOf(key, row) } : {};
    },

    async finishTry(finish) {
      const { key, tryNumber, activityAttempt, wallMs, usage } = finish;
      const common = [key, tryNumber, activityAttempt, wallMs, ...usageValues(usage)];
      const [statement, values] = resultOf(finish);
      const [row] = await database.run<{ outcome: 'recorded' | 'superseded' }>(statement, [
        ...common,
        ...values,
      ]);
      if (!row) throw new Fault('ledger', `finish try: no answer for "${key}"`);
      return row.outcome;
    },
  };
}

function resultOf({ key, clean, fault }: FinishTry): [typeof FINISH_CLEAN, readonly unknown[]] {
  if (clean && !fault) {
    const { passed, reward, reasons, judged } = clean.verdict;
    const words = reasons.length + judged.length > 0 ? storableJson({ reasons, judged }) : null;
    const { termination, trajectory, effectsDigest, weightVersion } = clean;
    const { turns, toolCalls, toolErrors, truncatedTurns } = clean;
    return [
      FINISH_CLEAN,
      [
        ...[passed, reward, words, termination, trajectory, effectsDigest, weightVersion],
        ...[turns, toolCalls, toolErrors, truncatedTurns],
      ],
    ];
  }
  if (fault && !clean) {
    const message = storableUpTo(fault.message, MESSAGE_LIMIT);
    const stack = fault.stack === null ? null : storableUpTo(fault.stack, STACK_LIMIT);
    const { kind, code, duringToolCall, exhausted, trajectory } = fault;
    return [FINISH_FAULT, [kind, code, message, stack, duringToolCall, exhausted, trajectory]];
  }
  throw new TypeError(
    `finish try: expected either a clean result or a fault for "${key}", found ${clean ? 'both' : 'neither'}`,
  );
}
