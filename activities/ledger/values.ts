/** Values on their way into PostgreSQL and back. */
import type { Usage } from '../../core/outcome.js';

/** PostgreSQL's text holds neither NUL nor half of a surrogate pair; foreign output has both. */
export function storable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\uFFFD');
}

/** As `storable`, and at most `limit` characters: a stack trace has no length of its own. */
export function storableUpTo(text: string, limit: number): string {
  const clean = storable(text);
  return clean.length <= limit ? clean : `${storable(clean.slice(0, limit))}… (${clean.length} characters)`;
}

/** JSON for a `jsonb` parameter, with the same care for every string in it. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'string' ? storable(inner) : inner,
  );
}

export function iso(time: Date): string;
export function iso(time: Date | null): string | null;
export function iso(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/** The usage columns of `tries`, in the order of `usageValues`. */
export interface UsageColumns {
  readonly policy_prompt_tokens: number | null;
  readonly policy_sampled_tokens: number | null;
  readonly policy_calls: number | null;
  readonly other_prompt_tokens: number | null;
  readonly other_sampled_tokens: number | null;
  readonly other_calls: number | null;
}

/** Sums and counts as float8: pg gives bigint as text, and no sum of tokens comes near 2^53. */
export function usageColumns(table: string): string {
  return [
    `${table}.policy_prompt_tokens::float8`,
    `${table}.policy_sampled_tokens::float8`,
    `${table}.policy_calls`,
    `${table}.other_prompt_tokens::float8`,
    `${table}.other_sampled_tokens::float8`,
    `${table}.other_calls`,
  ].join(', ');
}

export function usageOf(row: UsageColumns): Usage | null {
  if (row.policy_calls === null) return null;
  return {
    policyPromptTokens: row.policy_prompt_tokens ?? 0,
    policySampledTokens: row.policy_sampled_tokens ?? 0,
    policyCalls: row.policy_calls,
    otherPromptTokens: row.other_prompt_tokens ?? 0,
    otherSampledTokens: row.other_sampled_tokens ?? 0,
    otherCalls: row.other_calls ?? 0,
  };
}

export function usageValues(usage: Usage): readonly number[] {
  return [
    usage.policyPromptTokens,
    usage.policySampledTokens,
    usage.policyCalls,
    usage.otherPromptTokens,
    usage.otherSampledTokens,
    usage.otherCalls,
  ];
}
