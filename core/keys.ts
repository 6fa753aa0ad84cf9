/**
 * Names and attempt keys: one scheme for probe, train and eval. Pure strings, safe inside workflows.
 *
 *   eval/<name> · <task> · <repetition>            probe/<name> · <task> · <repetition>
 *   train/<run>/step-0007 · <task> · <round.group.member>
 */
import { UsageError } from './faults.js';

const SEPARATOR = ' · ';
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** Characters of a campaign's name. */
export const LONGEST_NAME = 63;

export type CampaignKind = 'probe' | 'train' | 'eval' | 'pipeline';

/** `train/run-1`. Throws `UsageError` for a name that is not lower-case letters, digits, `.`, `_`, `-`, 63 at most. */
export function campaignId(kind: CampaignKind, name: string): string {
  if (!NAME.test(name)) {
    throw new UsageError(
      `${kind} name`,
      'lower-case letters, digits, ".", "_" or "-", 63 at most',
      name === '' ? 'an empty name' : `"${name}"`,
      suggestion(name),
    );
  }
  return `${kind}/${name}`;
}

function suggestion(name: string): string | undefined {
  const near = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 63);
  return NAME.test(near) ? `For example: ${near}` : undefined;
}

/** `train/run-1/step-0007`; steps count from 1. */
export function stepId(runId: string, step: number): string {
  return `${runId}/step-${String(step).padStart(4, '0')}`;
}

/** `eval/night/shard-03`; shards count from 0. */
export function shardId(evalId: string, shard: number): string {
  return `${evalId}/shard-${String(shard).padStart(2, '0')}`;
}

/** `serve/run-1-step-0005`: the workflow that sees that somebody keeps a serving. */
export function servingId(name: string): string {
  return `serve/${name}`;
}

/** Key of one attempt. `slot` is the repetition, or `round.group.member` in a training step. */
export function attemptKey(owner: string, taskId: string, slot: string): string {
  return [owner, taskId, slot].join(SEPARATOR);
}
