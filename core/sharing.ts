/**
 * How campaigns share sandbox workers: whose episodes go first where several wait, and in which pool they are played.
 * Neither is part of what a campaign is: they change when results come, never the results. Safe inside workflows.
 */
import { UsageError } from './faults.js';
import type { CampaignKind } from './keys.js';

/** From first to last. */
export const PRIORITIES = ['high', 'middle', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Where nobody says otherwise: a training step holds a trainer, a probe holds up a run, an evaluation is looked at later. */
export const USUAL_PRIORITY: Readonly<Record<Exclude<CampaignKind, 'pipeline'>, Priority>> = {
  train: 'high',
  probe: 'middle',
  eval: 'low',
};

/** What a person has asked for; absent: the usual. */
export interface Place {
  readonly priority?: Priority;
  /** Name of a pool of sandbox workers; null: the one of those that were given no name. */
  readonly pool?: string | null;
}

/** Of a campaign by its id, e.g. `train/run-1`. */
export function usualPriority(campaign: string): Priority {
  const kind = campaign.slice(0, campaign.indexOf('/'));
  return kind in USUAL_PRIORITY ? USUAL_PRIORITY[kind as keyof typeof USUAL_PRIORITY] : 'middle';
}

export function isPriority(value: unknown): value is Priority {
  return PRIORITIES.includes(value as Priority);
}

const POOL = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const POOL_FORM = 'lower-case letters, digits, ".", "_" or "-", 63 at most';

export function isPoolName(value: unknown): value is string {
  return typeof value === 'string' && POOL.test(value);
}

/** Throws `UsageError` for a name that is none. */
export function requirePoolName(place: string, name: string): string {
  if (isPoolName(name)) return name;
  throw new UsageError(place, POOL_FORM, name === '' ? 'an empty name' : `"${name}"`);
}

/** Task queue of a pool: `sandbox`, or `sandbox-gvisor`. */
export function poolQueue(base: string, pool: string | null | undefined): string {
  return pool == null ? base : `${base}-${pool}`;
}

/** The members that are there, so that what nobody asked for is nowhere written down. */
export function placeOf<P extends string | null>({
  priority,
  pool,
}: Asked<P>): Place & { readonly pool?: P } {
  return { ...(priority === undefined ? {} : { priority }), ...(pool === undefined ? {} : { pool }) };
}

interface Asked<P> {
  readonly priority?: Priority | undefined;
  readonly pool?: P | undefined;
}
