/**
 * A preflight: everything that can be looked at before a run, looked at together, so that a person reads every problem
 * at once. A check never throws for what does not hold; it says where, what was expected, what was found, and the fix.
 */
import type { Finding } from './cluster.js';
import { UsageError } from './faults.js';

export type CheckResult =
  /** It holds; `found` says by what. `warning`: what a person should look at all the same. */
  | { readonly state: 'holds'; readonly found: string; readonly warning?: string }
  | { readonly state: 'fails'; readonly problems: readonly Finding[] }
  /** It was not looked at, which is no problem of its own: `why` says so. */
  | { readonly state: 'skipped'; readonly why: string };

export interface NamedResult {
  readonly name: string;
  readonly result: CheckResult;
}

export const holds = (found: string): CheckResult => ({ state: 'holds', found });
export const skipped = (why: string): CheckResult => ({ state: 'skipped', why });

/** `found` where nothing is wrong. */
export function unless(problems: readonly Finding[], found: string): CheckResult {
  return problems.length > 0 ? { state: 'fails', problems } : holds(found);
}

export function problemsOfAll(results: readonly NamedResult[]): readonly Finding[] {
  return results.flatMap(({ result }) => (result.state === 'fails' ? result.problems : []));
}

/** Bad input as a finding. Throws what is none. */
export function asFinding(error: unknown, fix = ''): Finding {
  if (!(error instanceof UsageError)) throw error;
  const { place, expected, found } = error;
  return { place, expected, found, fix: error.fix ?? fix };
}

/** In the words of a `UsageError`. */
export function findingText({ place, expected, found, fix }: Finding): string {
  return new UsageError(place, expected, found, fix || undefined).message;
}
