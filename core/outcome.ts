/**
 * How a conversation ended (termination) and what it was worth (outcome) are two different things.
 */
import type { FaultKind } from './faults.js';

/** Why the conversation ended, one sentence each. A closed set. */
export const TERMINATIONS = {
  done: 'the agent ended the conversation with its end marker',
  end_turn_tool: 'the agent called a tool that ends the conversation',
  user_done: 'the simulated user ended the conversation',
  no_user: 'the agent answered and the task has no simulated user to go on with',
  user_limit: 'the simulated user had answered as often as the task allows',
  agent_limit: 'the agent had taken as many actions as the task allows',
  token_budget: 'the episode had used its token budget, or the context of the model',
} as const;

export type Termination = keyof typeof TERMINATIONS;

/** A clean outcome is scored; a system error never is. */
export type CleanOutcome = 'passed' | 'failed';
export type Outcome = CleanOutcome | 'system_error';

/** What the check said about the final state. `reward` is 0 or 1 for binary suites, else within [0, 1]. */
export interface Verdict {
  readonly passed: boolean;
  readonly reward: number;
  /** Why it failed, in the check's own words; empty when it passed. */
  readonly reasons: readonly string[];
  /** Answers of the judge to rubric questions, in the order asked. */
  readonly judged: readonly { readonly question: string; readonly answer: boolean }[];
}

/** Tokens and calls that one episode used. `policy*` are the policy's; `other*` the simulated user's and the judge's. */
export interface Usage {
  readonly policyPromptTokens: number;
  readonly policySampledTokens: number;
  readonly policyCalls: number;
  readonly otherPromptTokens: number;
  readonly otherSampledTokens: number;
  readonly otherCalls: number;
}

/**
 * What `runEpisode` returns through Temporal: at most 512 bytes as JSON (a test measures it).
 * A faulted try is `system_error` here as data: it never throws, so siblings go on.
 */
export interface EpisodeSummary {
  readonly key: string;
  readonly outcome: Outcome;
  /** Absent when the outcome is `system_error`. */
  readonly reward?: number;
  readonly termination?: Termination;
  readonly fault?: FaultKind;
  readonly faultCode?: string;
  /** False when another try cannot help. Absent for clean outcomes. */
  readonly retry?: boolean;
  /** True when a clean outcome was already in the ledger and nothing was run. */
  readonly reused?: boolean;
  readonly sampledTokens: number;
  readonly wallMs: number;
}
