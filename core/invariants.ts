/**
 * What the ledger promises, one sentence each, and the checks that are pure logic over its rows.
 * `verify ledger` names the offending keys of each that does not hold.
 */
import type { Digest } from './artifacts.js';
import { stepId } from './keys.js';
import type { CheckpointRow, GroupRow, OperationRow, StepRow } from './ledger.js';

export const INVARIANTS = {
  coverage:
    'planned attempts = clean + pending + exhausted, in every campaign; nothing is pending or unplanned in one that is done',
  unique_keys: 'no attempt key exists twice',
  clean_once: 'a clean attempt has exactly one try that counts, any other attempt has none',
  running_once: 'an attempt has at most one running try',
  trajectories: 'the trajectory of every clean attempt is in the artifact store, and its bytes are unchanged',
  sandboxes:
    'sandboxes recorded = released + reaped + open, and open ones belong to a running try or are not yet due',
  steps_in_line: 'the steps of a run are 1, 2, 3 ..., each once, and only the last may be unfinished',
  lineage: 'weights form one line: the base of a step is the weight after the step before it',
  operations: 'a step whose weights moved has exactly one operation that is done, with the same digests',
  batches:
    'the batch of every operation and the token records that it refers to are in the artifact store, and their bytes are unchanged',
  groups: 'the groups of a step have the rewards of their attempts, and the state that follows from them',
  checkpoints: 'a checkpoint holds the weights that are recorded for its step',
  servings:
    'weights are served as long as somebody needs them, no campaign that has ended does, and no server outlives its serving',
  jobs: 'a run of Verl has at most one job, alone on its hosts and in its folder, started again no more often than allowed; its checkpoints lie in that folder, and its job ends with it',
} as const;

export type Invariant = keyof typeof INVARIANTS;

export interface Violation {
  readonly invariant: Invariant;
  /** Attempt keys, step ids, operations, sandbox names or digests; at least one. */
  readonly keys: readonly string[];
}

export interface RunRows {
  readonly run: string;
  readonly steps: readonly StepRow[];
  readonly operations: readonly OperationRow[];
  readonly checkpoints: readonly CheckpointRow[];
  /** Weights that the run started from, where they are known (a checkpoint of another run). */
  readonly base: Digest | null;
  /** Its trainer was one job, which tells no weights between checkpoints. */
  readonly job?: boolean;
}

const ENDED = new Set<StepRow['state']>(['done', 'skipped']);

/** Steps, lineage, operations and checkpoints of one run. */
export function runViolations({
  run,
  steps,
  operations,
  checkpoints,
  base,
  job = false,
}: RunRows): readonly Violation[] {
  const rows = [...steps].sort((a, b) => a.step - b.step);
  const name = ({ step }: { readonly step: number }): string => stepId(run, step);
  const weights = new Map<number, Digest | null>([
    [0, base],
    ...rows.map((row) => [row.step, row.weightDigest] as const),
  ]);

  const outOfLine = rows.filter(
    (row, at) => row.step !== at + 1 || (at < rows.length - 1 && !ENDED.has(row.state)),
  );
  const broken = rows.filter((row) => {
    const before = weights.get(row.step - 1) ?? null;
    if (row.weightDigest === null) return !job && ENDED.has(row.state);
    return row.baseDigest === null || (before === null ? row.step > 1 : row.baseDigest !== before);
  });
  const unmatched = rows.filter((row) => {
    const done = operations.filter(({ step, state }) => step === row.step && state === 'done');
    if (row.weightDigest === null) return done.length > 0;
    if (row.state === 'skipped' && done.length === 0) return row.weightDigest !== row.baseDigest;
    return done.length !== 1 || !agrees(done[0] as OperationRow, row);
  });
  const orphans = operations.filter(({ step }) => !weights.has(step)).map(({ op }) => op);
  // A trainer counts its updates: a step that was left out is none.
  const leftOut = rows
    .filter(
      (row) =>
        row.state === 'skipped' &&
        !operations.some((done) => done.step === row.step && done.state === 'done'),
    )
    .map(({ step }) => step);
  const updates = (step: number): number => step - leftOut.filter((skipped) => skipped <= step).length;
  const foreign = checkpoints.filter(({ step, manifest }) => {
    const recorded = weights.get(step);
    return (
      manifest.run !== run ||
      manifest.step !== updates(step) ||
      (recorded ?? manifest.weightDigest) !== manifest.weightDigest
    );
  });

  return violations({
    steps_in_line: outOfLine.map(name),
    lineage: broken.map(name),
    operations: [...unmatched.map(name), ...orphans],
    checkpoints: foreign.map(({ path }) => path),
  });
}

/** What one group of a step says of itself, against the rewards of its attempts (null: not clean), by member. */
export function groupHolds(group: GroupRow, rewardsByMember: readonly (number | null)[]): boolean {
  if (group.rewards.length !== rewardsByMember.length) return false;
  if (!group.rewards.every((reward, member) => reward === rewardsByMember[member])) return false;
  return group.state === stateOf(group.rewards);
}

/** Leaves out what nothing violates. */
export function violations(
  keys: Readonly<Partial<Record<Invariant, readonly string[]>>>,
): readonly Violation[] {
  return (Object.keys(keys) as Invariant[])
    .map((invariant) => ({ invariant, keys: keys[invariant] ?? [] }))
    .filter((violation) => violation.keys.length > 0);
}

function stateOf(rewards: readonly (number | null)[]): GroupRow['state'] {
  if (rewards.some((reward) => reward === null)) return 'incomplete';
  return rewards.every((reward) => reward === rewards[0]) ? 'zero_variance' : 'informative';
}

function agrees(operation: OperationRow, step: StepRow): boolean {
  return (
    operation.op === step.op &&
    operation.baseDigest === step.baseDigest &&
    operation.batchDigest === step.batchDigest &&
    operation.report?.weightDigest === step.weightDigest
  );
}
