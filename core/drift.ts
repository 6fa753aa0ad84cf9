/**
 * What has changed since a campaign was started, and was accepted by a person (`--accept-drift`). Accepted drift is
 * noted in the campaign's result, in the order of acceptance, and never taken back.
 */
import type { Digest } from './artifacts.js';

/** One thing that decides results and is not what it was. */
export interface Drift {
  /** `suite deskbench`, `trainer build`, `trainer numerics: kernel` ... */
  readonly what: string;
  readonly recorded: string;
  readonly found: string;
}

export interface AcceptedDrift extends Drift {
  readonly acceptedAt: string;
}

/** From a campaign's result. */
export function acceptedDrift(result: unknown): readonly AcceptedDrift[] {
  return ((result ?? {}) as { acceptedDrift?: readonly AcceptedDrift[] }).acceptedDrift ?? [];
}

export function suiteDrift(name: string, recorded: Digest, found: Digest): readonly Drift[] {
  return recorded === found ? [] : [{ what: `suite ${name}`, recorded, found }];
}

/** `found`: digest of what user and judge are told today; a campaign from before it was part of it has none. */
export function promptsDrift(recorded: Digest | undefined, found: Digest): readonly Drift[] {
  const what = 'prompts of user and judge';
  return recorded === undefined || recorded === found ? [] : [{ what, recorded, found }];
}

/** Those that nobody has accepted yet. */
export function notAccepted(drift: readonly Drift[], result: unknown): readonly Drift[] {
  const accepted = acceptedDrift(result);
  return drift.filter(
    ({ what, found }) => !accepted.some((known) => known.what === what && known.found === found),
  );
}
