/** Ledger rows with given results, for metric tests. */
import { attemptKey } from '../../core/keys.js';
import type { AttemptRow } from '../../core/ledger.js';
import type { Usage } from '../../core/outcome.js';

export interface TaskResult {
  readonly taskId: string;
  readonly domain?: string;
  readonly template?: string;
  /** results[repetition]: 1 passed, 0 failed, null exhausted, undefined pending. */
  readonly results: readonly (0 | 1 | null | undefined)[];
}

export function attemptRows(
  campaign: string,
  tasks: readonly TaskResult[],
  usageOf: (ordinal: number) => Usage = noUsage,
): AttemptRow[] {
  let ordinal = 0;
  return tasks.flatMap(({ taskId, domain = 'shop', template = 'refund', results }) =>
    results.map((result, repetition): AttemptRow => {
      const clean = result === 0 || result === 1;
      return {
        key: attemptKey(campaign, taskId, String(repetition)),
        campaign,
        taskId,
        slot: String(repetition),
        domain,
        template,
        state: clean ? 'clean' : result === null ? 'exhausted' : 'pending',
        passed: clean ? result === 1 : null,
        reward: clean ? result : null,
        termination: clean ? 'done' : null,
        trajectory: null,
        weightVersion: null,
        usage: clean ? usageOf(ordinal++) : null,
        wallMs: clean ? 1000 : null,
        tries: 1,
        step: null,
        round: null,
        group: null,
        member: null,
        truncatedTurns: clean ? 0 : null,
      };
    }),
  );
}

/** `passed` passes, then failures. */
export function runs(passed: number, attempts: number): (0 | 1)[] {
  return Array.from({ length: attempts }, (_, index) => (index < passed ? 1 : 0));
}

export function sampledTokens(policySampledTokens: number): Usage {
  return { ...noUsage(), policySampledTokens };
}

function noUsage(): Usage {
  return {
    policyPromptTokens: 0,
    policySampledTokens: 0,
    policyCalls: 0,
    otherPromptTokens: 0,
    otherSampledTokens: 0,
    otherCalls: 0,
  };
}
