/** The largest payloads of a reference step, 72 groups of 8, computed: real ones are too rare to wait for. */
import { expect, it } from 'vitest';
import { endedGroups, priorGroups, startedGroups } from '../../activities/campaign/step-groups.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { AttemptRow } from '../../core/ledger.js';
import type { StepStart } from '../../core/orchestration.js';
import { encodePositions } from '../../core/shards.js';
import { PAYLOAD_BUDGET, SHARD_SIZE, STEP } from '../../temporal.config.js';

const config = { shape: STEP } as unknown as TrainConfig;

/** Rows of groups 0 … 71; `state` says what became of a member. */
function rows(state: (group: number, member: number) => AttemptRow['state']): AttemptRow[] {
  return Array.from({ length: STEP.maxGroups * STEP.groupSize }, (_, index) => {
    const [group, member] = [Math.floor(index / STEP.groupSize), index % STEP.groupSize];
    const round = Math.floor(group / STEP.groups);
    const own = state(group, member);
    const reward = own === 'clean' ? member % 2 : null;
    return { group, member, round, taskId: `t${group}`, state: own, reward } as unknown as AttemptRow;
  });
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

it('a step that is begun again fits its budget, whatever became of its members', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  for (const state of ['clean', 'exhausted', 'pending'] as const) {
    const start: StepStart = {
      state: 'sampling',
      batchDigest: digest,
      candidates: Array.from({ length: STEP.maxGroups }, (_, index) => 900 + index),
      prior: priorGroups(
        config,
        rows((_group, member) => (member === 0 ? 'clean' : state)),
      ),
      firstTry: 4,
    };
    expect(start.prior).toHaveLength(STEP.maxGroups);
    expect(size(start)).toBeLessThanOrEqual(PAYLOAD_BUDGET.other);
  }
});

it('the plan of a whole shard fits its budget', () => {
  const missing = encodePositions(
    Array.from({ length: SHARD_SIZE }, (_, index) => index),
    SHARD_SIZE,
  );
  expect(size({ missing, missingCount: SHARD_SIZE, firstTry: 1 })).toBeLessThanOrEqual(PAYLOAD_BUDGET.other);
});

it('a group has ended when none of its members is pending; every planned one was started', () => {
  const mixed = rows((group, member) => (group % 2 === 1 && member === 3 ? 'pending' : 'clean'));
  const ended = endedGroups(config, mixed);
  expect(ended.map(({ group }) => group)).toEqual(Array.from({ length: 36 }, (_, index) => index * 2));
  expect(ended.every(({ state }) => state === 'informative')).toBe(true);
  expect(startedGroups(mixed)).toBe(STEP.maxGroups);
});

it('a group that was never planned leaves its place empty', () => {
  const gap = rows(() => 'clean').filter(({ group }) => group !== 1);
  const prior = priorGroups(config, gap);
  expect(prior[1]).toBeNull();
  expect(prior[2]).toEqual([0, [0, 1, 0, 1, 0, 1, 0, 1]]);
});
